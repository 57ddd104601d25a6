/* Eight readers on a simulated drive, each of which asks again as soon as it is answered.
 *
 *     export PKG_CONFIG_PATH=~/.local/lib/pkgconfig
 *     cc closed_loop.c $(pkg-config --cflags --libs ssdlab) -Wl,-rpath,$HOME/.local/lib -o closed_loop
 *     ./closed_loop samsung-pm9a3
 */
#include <inttypes.h>
#include <ssdlab.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define READERS 8
#define REQUESTS 20000

static uint64_t random_state = 42;

static uint64_t draw(uint64_t below)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state % below;
}

static void check(ssdlab_drive *drive, int32_t outcome)
{
    if (outcome != SSDLAB_OK) {
        fprintf(stderr, "%s\n", ssdlab_message(drive));
        exit(1);
    }
}

static void ask(ssdlab_drive *drive)
{
    ssdlab_request request = {.op = SSDLAB_READ, .bytes = 4096, .handle = SSDLAB_NO_HANDLE};
    request.offset = draw(ssdlab_capacity_bytes(drive) / 4096) * 4096;
    check(drive, ssdlab_submit(drive, ssdlab_now_ns(drive), &request, NULL));
}

int main(int count, char **words)
{
    if (ssdlab_abi() != SSDLAB_ABI) {
        fprintf(stderr, "libssdlab %s is not the library of this header\n", ssdlab_version());
        return 1;
    }
    const char *settings[] = {"run.precondition=sequential", "device.scale=64"};
    char message[512];
    ssdlab_drive *drive;
    if (ssdlab_open(count > 1 ? words[1] : NULL, settings, 2, &drive, message, sizeof message)) {
        fprintf(stderr, "%s\n", message);
        return 1;
    }

    uint64_t asked = 0, answered = 0, latency_ns = 0, parts_ns[SSDLAB_PARTS_MAX] = {0};
    for (; asked < READERS; asked++)
        ask(drive);
    while (answered < REQUESTS) {
        const ssdlab_answer *answers;
        size_t many;
        /* On to the next answer, and no further: the next request comes then. */
        check(drive, ssdlab_advance_to_answer(drive, SSDLAB_NEVER, &answers, &many));
        answered += many;
        for (size_t i = 0; i < many; i++) {
            latency_ns += answers[i].latency_ns;
            for (int part = 0; part < SSDLAB_PARTS_MAX; part++)
                parts_ns[part] += answers[i].parts_ns[part];
        }
        for (; many > 0 && asked < REQUESTS; many--, asked++)
            ask(drive);
    }

    printf("%" PRIu64 " reads, mean latency %.2f us\n", answered, latency_ns / 1e3 / answered);
    for (uint32_t part = 0; part < SSDLAB_PARTS_MAX; part++) {
        char name[64];
        if (parts_ns[part] > 0 && ssdlab_name(SSDLAB_PARTS, part, name, sizeof name) == SSDLAB_OK)
            printf("  %-14s %6.2f us\n", name, parts_ns[part] / 1e3 / answered);
    }
    ssdlab_close(&drive);
    return 0;
}
