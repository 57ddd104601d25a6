/* A closed loop on a saved drive, whose instructions are counted. Arguments: read or write, the file of the drive,
 * and how many requests are sent. */
#include <inttypes.h>
#include <ssdlab.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define OUTSTANDING 32

static uint64_t random_state = 88172645463325252u;

static void ask(ssdlab_drive *drive, uint8_t op, uint64_t pages)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    ssdlab_request request = {.op = op, .bytes = 4096, .handle = SSDLAB_NO_HANDLE};
    request.offset = random_state % pages * 4096;
    if (ssdlab_submit(drive, ssdlab_now_ns(drive), &request, NULL) != SSDLAB_OK)
        exit(1);
}

int main(int count, char **words)
{
    char load[600], message[256];
    if (count != 4)
        return 1;
    snprintf(load, sizeof load, "run.load_drive='%s'", words[2]);
    const char *settings[] = {load, "device.blocks_per_plane=114", "device.capacity=119631MB"};
    ssdlab_drive *drive;
    if (ssdlab_open("samsung-pm9a3", settings, 3, &drive, message, sizeof message) != SSDLAB_OK)
        return fprintf(stderr, "%s\n", message), 1;
    const uint8_t op = strcmp(words[1], "read") ? SSDLAB_WRITE : SSDLAB_READ;
    const uint64_t requests = strtoull(words[3], NULL, 10), pages = ssdlab_capacity_bytes(drive) / 4096;
    uint64_t asked = 0, answered = 0;
    for (; asked < OUTSTANDING; asked++)
        ask(drive, op, pages);
    while (answered < requests) {
        const ssdlab_answer *answers;
        size_t many;
        if (ssdlab_advance_to_answer(drive, SSDLAB_NEVER, &answers, &many) != SSDLAB_OK)
            return 1;
        answered += many;
        for (; many > 0; many--, asked++)
            ask(drive, op, pages);
    }
    printf("%" PRIu64 " answered\n", answered);
    return 0;
}
