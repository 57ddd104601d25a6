/* The disk of the example for gem5: it has the times of the library, passes data on, and is checkpointed. */
#include <cstring>
#include <vector>

#include "dev/storage/ssd/ssd_disk.hh"

using namespace gem5;

#define CHECK(what)                                                             \
    do {                                                                        \
        if (!(what)) {                                                          \
            fprintf(stderr, "%s:%d: not %s\n", __FILE__, __LINE__, #what);       \
            exit(1);                                                            \
        }                                                                       \
    } while (0)

class Image : public DiskImage
{
  public:
    Image() : DiskImage(DiskImageParams{}), bytes(1 << 20) {}
    std::streampos size() const override { return bytes.size() / 512; }
    std::streampos read(uint8_t *data, std::streampos offset) const override
    {
        memcpy(data, &bytes[offset * 512], 512);
        return 512;
    }
    std::streampos write(const uint8_t *data, std::streampos offset) override
    {
        memcpy(&bytes[offset * 512], data, 512);
        return 512;
    }

  private:
    std::vector<uint8_t> bytes;
};

static ssdlab_request
request(unsigned number)
{
    ssdlab_request asked = {};
    asked.op = number % 3 ? SSDLAB_READ : SSDLAB_WRITE;
    asked.offset = number * 7919 % 4096 * 4096;
    asked.bytes = 4096 * (1 + number % 4);
    asked.handle = SSDLAB_NO_HANDLE;
    return asked;
}

/* Four accesses at a time, each of which asks again when it is done: the latencies by number. */
static std::vector<uint64_t>
through_gem5(SsdDisk &disk, unsigned count)
{
    std::vector<uint64_t> latencies(count);
    unsigned asked = 0, done = 0;
    const Tick began = curTick();
    std::function<void()> ask = [&] {
        if (asked == count)
            return;
        const unsigned number = asked++;
        const Tick at = curTick();
        const ssdlab_request it = request(number);
        disk.access(it.op, it.offset, it.bytes, [&, number, at](const ssdlab_answer &answer) {
            CHECK(answer.status == 0 && curTick() - at == answer.latency_ns * 1000);
            CHECK(curTick() - began <= answer.at_ns * 1000);
            latencies[number] = answer.latency_ns;
            done++;
            ask();
        });
    };
    for (int i = 0; i < 4; i++)
        ask();
    simulate();
    CHECK(done == count);
    return latencies;
}

static std::vector<uint64_t>
directly(ssdlab_drive *drive, unsigned count)
{
    std::vector<uint64_t> latencies(count);
    const ssdlab_answer *answers;
    size_t many;
    unsigned asked = 0;
    uint64_t first = 0, tag;
    auto ask = [&] {
        const ssdlab_request it = request(asked);
        CHECK(ssdlab_submit(drive, ssdlab_now_ns(drive), &it, &tag) == SSDLAB_OK);
        first = asked++ == 0 ? tag : first;
    };
    while (asked < 4)
        ask();
    while (ssdlab_next_event_ns(drive) != SSDLAB_NEVER) {
        CHECK(ssdlab_advance(drive, ssdlab_next_event_ns(drive), &answers, &many) == SSDLAB_OK);
        const std::vector<ssdlab_answer> these(answers, answers + many);
        for (const ssdlab_answer &answer : these) {
            latencies[answer.tag - first] = answer.latency_ns;
            if (asked < count)
                ask();
        }
    }
    return latencies;
}

int
main(int, char **words)
{
    CheckpointIn::theDir = words[1];
    theTick = 123456;
    Image image;
    SsdDiskParams params;
    params.name = "system.disk";
    params.child = &image;
    /* Its write buffer is protected: only a shutdown empties it. */
    params.device = "tlc-enterprise";
    params.settings = "device.channels=1;device.dies_per_package=1;device.blocks_per_plane=32;device.capacity=2GB;"
                      "device.scale=1;run.precondition=random:0.5";
    SsdDisk disk(params);

    ssdlab_drive *drive;
    const char *settings[] = {"device.channels=1",         "device.dies_per_package=1", "device.blocks_per_plane=32",
                              "device.capacity=2GB",       "device.scale=1",            "run.precondition=random:0.5"};
    CHECK(ssdlab_open("tlc-enterprise", settings, 6, &drive, nullptr, 0) == SSDLAB_OK);
    CHECK(disk.capacityBytes() == ssdlab_capacity_bytes(drive));
    CHECK(through_gem5(disk, 500) == directly(drive, 500));

    uint8_t data[512] = {1, 2, 3}, back[512];
    CHECK(disk.size() == 2048 && disk.write(data, 5) == 512 && image.read(back, 5) == 512);
    CHECK(memcmp(data, back, 512) == 0 && disk.read(back, 6) == 512 && back[0] == 0);

    /* Drained, it has a checkpoint, from which another goes on. */
    disk.access(SSDLAB_WRITE, 0, 4096, [](const ssdlab_answer &) {});
    CHECK(disk.drain() == DrainState::Draining);
    disk.drain_state = DrainState::Draining;
    simulate();
    CHECK(disk.drain_state == DrainState::Drained && disk.drain() == DrainState::Drained);
    CheckpointOut out;
    disk.serialize(out);
    CheckpointIn in;
    in.values = out;
    theTick += 777000;
    SsdDisk restored(params);
    restored.unserialize(in);
    const ssdlab_request last = {0, 4096, SSDLAB_WRITE, SSDLAB_NO_HANDLE, 0, 0, {}};
    const ssdlab_answer *answers;
    size_t many;
    CHECK(ssdlab_submit(drive, ssdlab_now_ns(drive), &last, nullptr) == SSDLAB_OK);
    while (ssdlab_next_event_ns(drive) != SSDLAB_NEVER)
        CHECK(ssdlab_advance(drive, ssdlab_next_event_ns(drive), &answers, &many) == SSDLAB_OK);
    CHECK(ssdlab_shut_down(drive) == SSDLAB_OK);
    while (ssdlab_next_event_ns(drive) != SSDLAB_NEVER)
        CHECK(ssdlab_advance(drive, ssdlab_next_event_ns(drive), &answers, &many) == SSDLAB_OK);
    CHECK(through_gem5(restored, 300) == directly(drive, 300));
    ssdlab_close(&drive);
    return 0;
}
