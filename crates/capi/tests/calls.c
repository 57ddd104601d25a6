/* Promises of the library to C. Arguments: a folder for files, and how many random calls are made. */
#include <inttypes.h>
#include <ssdlab.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CHECK(what)                                                       \
    do {                                                                  \
        if (!(what)) {                                                    \
            fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #what); \
            exit(1);                                                      \
        }                                                                 \
    } while (0)

_Static_assert(sizeof(ssdlab_request) == 24, "request");
_Static_assert(offsetof(ssdlab_request, op) == 16, "op");
_Static_assert(offsetof(ssdlab_request, queue) == 18, "queue");
_Static_assert(offsetof(ssdlab_request, fua) == 20, "fua");
_Static_assert(sizeof(ssdlab_answer) == 32 + 8 * SSDLAB_PARTS_MAX, "answer");
_Static_assert(offsetof(ssdlab_answer, status) == 24, "status");
_Static_assert(offsetof(ssdlab_answer, parts_ns) == 32, "parts");

static const char *SMALL[] = {"device.channels=2", "device.dies_per_package=1", "device.planes_per_die=1",
                              "device.blocks_per_plane=128", "run.precondition=random:1"};

static ssdlab_drive *small(void)
{
    ssdlab_drive *drive;
    char message[256];
    int32_t outcome = ssdlab_open("agrawal2008", SMALL, 5, &drive, message, sizeof message);
    if (outcome != SSDLAB_OK)
        fprintf(stderr, "%s\n", message);
    CHECK(outcome == SSDLAB_OK && drive != NULL && message[0] == 0);
    return drive;
}

static ssdlab_request of(uint8_t op, uint64_t offset, uint64_t bytes)
{
    ssdlab_request request = {.op = op, .offset = offset, .bytes = bytes, .handle = SSDLAB_NO_HANDLE};
    return request;
}

static int32_t ask(ssdlab_drive *drive, uint64_t at, ssdlab_request request)
{
    return ssdlab_submit(drive, at, &request, NULL);
}

static size_t advance(ssdlab_drive *drive, uint64_t to, const ssdlab_answer **answers)
{
    size_t count;
    CHECK(ssdlab_advance(drive, to, answers, &count) == SSDLAB_OK);
    return count;
}

static void says(ssdlab_drive *drive, int32_t outcome, int32_t wanted, const char *words)
{
    if (outcome != wanted || !strstr(ssdlab_message(drive), words)) {
        fprintf(stderr, "%d and not %d: %s\n", outcome, wanted, ssdlab_message(drive));
        exit(1);
    }
}

static void opening(void)
{
    ssdlab_drive *drive = (ssdlab_drive *)&drive;
    char message[64];
    CHECK(ssdlab_open("none such", NULL, 0, &drive, message, sizeof message) == SSDLAB_INPUT);
    CHECK(drive == NULL && strlen(message) == 63);
    CHECK(ssdlab_open("none such", NULL, 0, &drive, NULL, 0) == SSDLAB_INPUT);
    CHECK(ssdlab_open("none such", NULL, 0, &drive, message, 1) == SSDLAB_INPUT && message[0] == 0);
    const char *wrong = "device.chanels=4";
    CHECK(ssdlab_open(NULL, &wrong, 1, &drive, message, sizeof message) == SSDLAB_INPUT);
    const char *none = NULL;
    CHECK(ssdlab_open(NULL, &none, 1, &drive, message, sizeof message) == SSDLAB_ARGUMENT);
    const char *foreign = "device.channels=\xff";
    CHECK(ssdlab_open(NULL, &foreign, 1, &drive, message, sizeof message) == SSDLAB_ARGUMENT);
    CHECK(ssdlab_open(NULL, NULL, 1, &drive, NULL, 0) == SSDLAB_ARGUMENT);
    CHECK(ssdlab_open(NULL, NULL, 0, NULL, NULL, 0) == SSDLAB_ARGUMENT);
}

static void mistakes(void)
{
    ssdlab_drive *drive = small();
    const uint64_t capacity = ssdlab_capacity_bytes(drive);
    const ssdlab_answer *answers;
    size_t count;
    advance(drive, 1000, &answers);
    says(drive, ask(drive, 999, of(SSDLAB_READ, 0, 512)), SSDLAB_TIME, "in the past");
    says(drive, ask(drive, SSDLAB_NEVER, of(SSDLAB_READ, 0, 512)), SSDLAB_TIME, "500 years");
    says(drive, ssdlab_advance(drive, 1, &answers, &count), SSDLAB_TIME, "in the past");
    CHECK(answers == NULL && count == 0);
    says(drive, ask(drive, 1000, of(SSDLAB_READ, 1, 512)), SSDLAB_RANGE, "multiple of 512");
    says(drive, ask(drive, 1000, of(SSDLAB_READ, 0, 0)), SSDLAB_RANGE, "has a length");
    says(drive, ask(drive, 1000, of(SSDLAB_READ, capacity, 512)), SSDLAB_RANGE, "beyond the end");
    says(drive, ask(drive, 1000, of(SSDLAB_APPEND, 0, 512)), SSDLAB_OPERATION, "expected one of read");
    says(drive, ask(drive, 1000, of(77, 0, 512)), SSDLAB_OPERATION, "77");
    says(drive, ssdlab_save(drive, "/none/such"), SSDLAB_SYSTEM, "cannot be written");
    CHECK(ssdlab_save(drive, NULL) == SSDLAB_ARGUMENT);
    CHECK(ssdlab_submit(drive, 1000, NULL, NULL) == SSDLAB_ARGUMENT);
    CHECK(ssdlab_submit(NULL, 1000, NULL, NULL) == SSDLAB_ARGUMENT);
    CHECK(ssdlab_advance(drive, 1000, NULL, &count) == SSDLAB_ARGUMENT);
    CHECK(ssdlab_advance_to_answer(drive, 1000, &answers, NULL) == SSDLAB_ARGUMENT);
    says(drive, ssdlab_advance_to_answer(drive, 999, &answers, &count), SSDLAB_TIME, "in the past");
    CHECK(ssdlab_clone(drive, NULL) == SSDLAB_ARGUMENT);
    CHECK(ssdlab_report(NULL) == NULL && ssdlab_capacity_bytes(NULL) == 0 && ssdlab_now_ns(NULL) == 0);
    CHECK(ssdlab_next_event_ns(NULL) == SSDLAB_NEVER && ssdlab_next_event_ns(drive) == SSDLAB_NEVER);
    ssdlab_close(NULL);
    CHECK(ask(drive, 1000, of(SSDLAB_WRITE, 0, 4096)) == SSDLAB_OK);
    says(drive, ssdlab_save(drive, "it.drive"), SSDLAB_AT_WORK, "at work");
    says(drive, ssdlab_shut_down(drive), SSDLAB_AT_WORK, "at work");
    ssdlab_close(&drive);
    /* A drive that is closed is none. */
    CHECK(drive == NULL && strstr(ssdlab_message(drive), "no drive"));
    CHECK(ask(drive, 1000, of(SSDLAB_READ, 0, 4096)) == SSDLAB_ARGUMENT);
    CHECK(ssdlab_advance(drive, 1000, &answers, &count) == SSDLAB_ARGUMENT);
    CHECK(ssdlab_save(drive, "it.drive") == SSDLAB_ARGUMENT && ssdlab_shut_down(drive) == SSDLAB_ARGUMENT);
    ssdlab_drive *clone = NULL;
    CHECK(ssdlab_clone(drive, &clone) == SSDLAB_ARGUMENT);
    ssdlab_close(&drive);
    CHECK(ssdlab_open("barracuda", NULL, 0, &drive, NULL, 0) == SSDLAB_OK);
    says(drive, ssdlab_save(drive, "it.drive"), SSDLAB_STATELESS, "no state");
    CHECK(ssdlab_clone(drive, &clone) == SSDLAB_OK);
    ssdlab_close(&drive);
    ssdlab_close(&clone);
}

static void names(void)
{
    char name[32];
    const char *wanted[] = {"read", "write", "trim", "flush", "append", "open"};
    for (uint32_t op = 0; op < 6; op++) {
        CHECK(ssdlab_name(SSDLAB_OPERATIONS, op, name, sizeof name) == SSDLAB_OK);
        CHECK(strcmp(name, wanted[op]) == 0);
    }
    const uint32_t zoned[] = {SSDLAB_CLOSE, SSDLAB_FINISH, SSDLAB_RESET};
    const char *called[] = {"close", "finish", "reset"};
    for (int i = 0; i < 3; i++)
        CHECK(ssdlab_name(SSDLAB_OPERATIONS, zoned[i], name, sizeof name) == SSDLAB_OK && !strcmp(name, called[i]));
    CHECK(ssdlab_name(SSDLAB_STATUSES, 0, name, 3) == SSDLAB_OK && strcmp(name, "ok") == 0);
    CHECK(ssdlab_name(SSDLAB_STATUSES, 0, name, 2) == SSDLAB_ARGUMENT);
    CHECK(ssdlab_name(SSDLAB_STATUSES, 0, NULL, 9) == SSDLAB_ARGUMENT);
    CHECK(ssdlab_name(SSDLAB_PARTS, 0, name, sizeof name) == SSDLAB_OK && strcmp(name, "host_queue") == 0);
    CHECK(ssdlab_name(SSDLAB_PARTS, SSDLAB_PARTS_MAX, name, sizeof name) == SSDLAB_ARGUMENT);
    CHECK(ssdlab_name(3, 0, name, sizeof name) == SSDLAB_ARGUMENT);
}

static void going_on(const char *folder)
{
    ssdlab_drive *drive = small(), *clone, *saved;
    const ssdlab_answer *answers;
    for (uint64_t i = 0; i < 100; i++)
        CHECK(ask(drive, 1000 * i, of(SSDLAB_WRITE, i % 40 * 4096, 4096)) == SSDLAB_OK);
    CHECK(advance(drive, SSDLAB_NEVER, &answers) == 100);
    CHECK(ssdlab_save(drive, "it.drive") == SSDLAB_AT_WORK && ssdlab_shut_down(drive) == SSDLAB_OK);
    while (ssdlab_next_event_ns(drive) != SSDLAB_NEVER)
        advance(drive, ssdlab_next_event_ns(drive), &answers);
    char path[512], setting[600];
    snprintf(path, sizeof path, "%s/it.drive", folder);
    snprintf(setting, sizeof setting, "run.load_drive='%s'", path);
    CHECK(ssdlab_save(drive, path) == SSDLAB_OK && ssdlab_clone(drive, &clone) == SSDLAB_OK);
    const char *settings[] = {SMALL[0], SMALL[1], SMALL[2], SMALL[3], setting};
    CHECK(ssdlab_open("agrawal2008", settings, 5, &saved, NULL, 0) == SSDLAB_OK);
    ssdlab_drive *all[] = {drive, clone, saved};
    uint64_t latency[3];
    for (int which = 0; which < 3; which++) {
        ssdlab_drive *it = all[which];
        const uint64_t now = ssdlab_now_ns(it);
        CHECK((now == 0) == (which == 2));
        for (uint64_t i = 0; i < 200; i++)
            CHECK(ask(it, now + 500 * i, of(i % 3 ? SSDLAB_WRITE : SSDLAB_READ, i * 4096, 4096)) == SSDLAB_OK);
        latency[which] = 0;
        size_t count = advance(it, SSDLAB_NEVER, &answers);
        CHECK(count == 200);
        for (size_t i = 0; i < count; i++) {
            uint64_t parts = 0;
            for (int part = 0; part < SSDLAB_PARTS_MAX; part++)
                parts += answers[i].parts_ns[part];
            CHECK(answers[i].status == 0 && parts == answers[i].latency_ns);
            latency[which] = latency[which] * 31 + answers[i].latency_ns;
        }
        CHECK(strstr(ssdlab_report(it), "\"host\""));
        ssdlab_close(&it);
    }
    CHECK(latency[0] == latency[1] && latency[0] == latency[2]);
}

static uint64_t random_state = 88172645463325252u;

static uint64_t draw(uint64_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % below;
}

/* Any number, small ones as often as large ones. */
static uint64_t any(void)
{
    return draw(UINT64_MAX) >> draw(64);
}

static void random_calls(uint64_t calls)
{
    ssdlab_drive *drive = small();
    const uint64_t capacity = ssdlab_capacity_bytes(drive);
    uint64_t accepted = 0, answered = 0, refused = 0;
    const ssdlab_answer *answers;
    size_t count;
    for (uint64_t call = 0; call < calls; call++) {
        ssdlab_request request = of(draw(5), draw(capacity) & ~(uint64_t)511, draw(65536) & ~(uint64_t)511);
        uint64_t at = ssdlab_now_ns(drive) + draw(100000);
        switch (draw(6)) {
        case 0:
            request = of(any(), any(), any());
            request.handle = any();
            request.queue = any();
            at = any();
            /* fall through */
        case 1:
        case 2:
            if (ask(drive, at, request) == SSDLAB_OK)
                accepted++;
            else
                refused++;
            break;
        case 3:
            if ((draw(2) ? ssdlab_advance : ssdlab_advance_to_answer)(drive, at, &answers, &count) == SSDLAB_OK)
                answered += count;
            break;
        case 4:
            if (draw(2000) == 0)
                CHECK(ssdlab_report(drive) != NULL);
            at = ssdlab_next_event_ns(drive);
            if (at != SSDLAB_NEVER)
                answered += advance(drive, at, &answers);
            break;
        default:
            if (draw(50) == 0)
                answered += advance(drive, SSDLAB_NEVER, &answers);
            else if (ssdlab_advance(drive, any() >> 20, &answers, &count) == SSDLAB_OK)
                answered += count;
        }
    }
    answered += advance(drive, SSDLAB_NEVER, &answers);
    printf("%" PRIu64 " calls: %" PRIu64 " requests answered, %" PRIu64 " refused\n", calls, answered, refused);
    CHECK(accepted == answered && accepted > 0 && refused > 0);
    ssdlab_close(&drive);
}

int main(int count, char **words)
{
    CHECK(count == 3 && ssdlab_abi() == SSDLAB_ABI && strlen(ssdlab_version()) > 0);
    opening();
    mistakes();
    names();
    going_on(words[1]);
    random_calls(strtoull(words[2], NULL, 10));
    return 0;
}
