/* libssdlab: a simulated drive that your program steps.
 *
 * Times are nanoseconds since the drive began, places and lengths are bytes. A function that returns int32_t
 * returns SSDLAB_OK or the kind of a mistake, whose message ssdlab_message has; the drive is then as it was. A drive
 * has one owner: two threads must not use it at a time. Different drives are independent.
 */
#ifndef SSDLAB_H
#define SSDLAB_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The version of this header. ssdlab_abi() of the library must be the same. */
#define SSDLAB_ABI 1u

/* Outcomes. */
#define SSDLAB_OK 0
#define SSDLAB_INPUT 1     /* a device, a setting or a file is wrong */
#define SSDLAB_TIME 2      /* a time lies in the past, or after 500 years */
#define SSDLAB_RANGE 3     /* no multiple of 512 bytes, or beyond the end */
#define SSDLAB_OPERATION 4 /* the drive does not know the operation */
#define SSDLAB_AT_WORK 5   /* only a drive at rest can be saved */
#define SSDLAB_STATELESS 6 /* this device has no state to save or clone, or one that a file does not keep */
#define SSDLAB_SYSTEM 7    /* no memory, or a file cannot be written */
#define SSDLAB_INTERNAL 8  /* the library has failed: close the drive */
#define SSDLAB_ARGUMENT 9  /* a pointer is null, as after ssdlab_close, or a text is not UTF-8 */

/* Operations. Those from SSDLAB_APPEND on are of drives with zones. */
#define SSDLAB_READ 0
#define SSDLAB_WRITE 1
#define SSDLAB_TRIM 2
#define SSDLAB_FLUSH 3
#define SSDLAB_APPEND 4
#define SSDLAB_OPEN 5
#define SSDLAB_CLOSE 7
#define SSDLAB_FINISH 8
#define SSDLAB_RESET 9

/* Tables of ssdlab_name. */
#define SSDLAB_OPERATIONS 0u
#define SSDLAB_STATUSES 1u
#define SSDLAB_PARTS 2u

#define SSDLAB_NO_HANDLE 255u
#define SSDLAB_NEVER UINT64_MAX
#define SSDLAB_PARTS_MAX 16

typedef struct ssdlab_drive ssdlab_drive;

typedef struct ssdlab_request {
    uint64_t offset;     /* a multiple of 512 */
    uint64_t bytes;      /* a multiple of 512; 0 for a flush */
    uint8_t op;          /* SSDLAB_READ, ... */
    uint8_t handle;      /* placement handle of a write, or SSDLAB_NO_HANDLE */
    uint16_t queue;      /* submission queue */
    uint8_t fua;         /* 1: a write is durable when it is answered */
    uint8_t reserved[3]; /* 0 */
} ssdlab_request;

typedef struct ssdlab_answer {
    uint64_t tag;                        /* that of ssdlab_submit */
    uint64_t at_ns;                      /* when it was answered */
    uint64_t latency_ns;                 /* since the request came */
    uint32_t status;                     /* 0, or why not: ssdlab_name */
    uint32_t reserved;                   /* 0 */
    uint64_t parts_ns[SSDLAB_PARTS_MAX]; /* where the latency went: ssdlab_name */
} ssdlab_answer;

/* The versions of the library. */
uint32_t ssdlab_abi(void);
const char *ssdlab_version(void);

/* Builds and prepares a drive. `device` is a preset ("samsung-pm9a3") or the path of an experiment in TOML; null is
 * the default device. Each of the `count` settings is "KEY=VALUE", such as "run.precondition=steady",
 * "run.load_drive='it.drive'" or "device.channels=4"; of a key the last counts. `*out` is the drive, or null after a
 * mistake; then `message` has its message, cut to `room` bytes with the zero. It may be null. */
int32_t ssdlab_open(const char *device, const char *const *settings, size_t count, ssdlab_drive **out,
                    char *message, size_t room);

/* Ends a drive and sets `*drive` to null, which every other function refuses; null does nothing. */
void ssdlab_close(ssdlab_drive **drive);

/* The message of the last mistake, until the next. */
const char *ssdlab_message(const ssdlab_drive *drive);

uint64_t ssdlab_capacity_bytes(const ssdlab_drive *drive);

/* The present: everything before has happened. */
uint64_t ssdlab_now_ns(const ssdlab_drive *drive);

/* When something happens next, or SSDLAB_NEVER while the drive waits for requests only. An event need not be an
 * answer: the drive also cleans. */
uint64_t ssdlab_next_event_ns(const ssdlab_drive *drive);

/* Hands over a request that comes at `at_ns`, now or later. `*tag` counts the requests from 0; it may be null. */
int32_t ssdlab_submit(ssdlab_drive *drive, uint64_t at_ns, const ssdlab_request *request, uint64_t *tag);

/* Lets time pass to `to_ns`, or with SSDLAB_NEVER until everything is answered. `*answers` are the `*count` answers by
 * then, in their order, until the next call. */
int32_t ssdlab_advance(ssdlab_drive *drive, uint64_t to_ns, const ssdlab_answer **answers, size_t *count);

/* Lets time pass to the next answer, and to `to_ns` at most, or with SSDLAB_NEVER until everything is answered. Steps are
 * fewer and longer than from event to event. Another answer of that instant may come with the next call. */
int32_t ssdlab_advance_to_answer(ssdlab_drive *drive, uint64_t to_ns, const ssdlab_answer **answers, size_t *count);

/* The results so far, as JSON in the schema of `ssdlab run`, until the next report; null after a mistake. */
const char *ssdlab_report(ssdlab_drive *drive);

/* The host shuts the drive down, which has answered everything: what its write buffer holds is written to the flash.
 * The drive has events until it rests; the next request turns it on, without a cached map or a measured load. */
int32_t ssdlab_shut_down(ssdlab_drive *drive);

/* Writes the drive to a file, whole or not at all, for "run.load_drive='PATH'". It must rest: be shut down, and
 * without a next event. */
int32_t ssdlab_save(ssdlab_drive *drive, const char *path);

/* Another drive that does what this one will do, whatever it is doing, with its report. */
int32_t ssdlab_clone(ssdlab_drive *drive, ssdlab_drive **out);

/* The name of number `number` of a table, such as "read" or "host_queue"; a mistake if there is none or no room. */
int32_t ssdlab_name(uint32_t table, uint32_t number, char *name, size_t room);

#ifdef __cplusplus
}
#endif

#endif
