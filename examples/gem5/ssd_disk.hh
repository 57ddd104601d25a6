/* A disk image of gem5 whose accesses take the time of a simulated SSD. gem5 has the data, libssdlab the time.
 *
 * gem5's disk images are functional: read() and write() move a sector at once, and a controller adds a delay. This
 * one passes the data on to a child image, and access() says when a transfer of any length is done. Copy the folder
 * to src/dev/storage/ssd of gem5 (24.0), and build with the library that pkg-config finds as "ssdlab".
 */
#ifndef __DEV_STORAGE_SSD_SSD_DISK_HH__
#define __DEV_STORAGE_SSD_SSD_DISK_HH__

#include <ssdlab.h>

#include <functional>
#include <string>
#include <unordered_map>

#include "dev/storage/disk_image.hh"
#include "sim/eventq.hh"

namespace gem5
{

struct SsdDiskParams;

class SsdDisk : public DiskImage
{
  public:
    typedef SsdDiskParams Params;
    /** Is called at the tick of the answer. */
    typedef std::function<void(const ssdlab_answer &)> Done;

    SsdDisk(const Params &p);
    ~SsdDisk();

    std::streampos size() const override;
    std::streampos read(uint8_t *data, std::streampos offset) const override;
    std::streampos write(const uint8_t *data, std::streampos offset) override;

    /** The drive is asked now: `op` is SSDLAB_READ, SSDLAB_WRITE, SSDLAB_TRIM or SSDLAB_FLUSH, offset and bytes are
     * multiples of 512. */
    void access(uint8_t op, uint64_t offset, uint64_t bytes, Done done);

    /** Bytes of the drive, which must hold the image. */
    uint64_t capacityBytes() const;

    /** A checkpoint is taken when the drive has no work left; it keeps its wear and its map. */
    DrainState drain() override;
    void serialize(CheckpointOut &cp) const override;
    void unserialize(CheckpointIn &cp) override;

  private:
    DiskImage *child;
    ssdlab_drive *drive;
    const std::string device;
    const std::string settings;
    /** Since then the clock of the drive runs. */
    Tick began;
    std::unordered_map<uint64_t, Done> waiting;
    EventFunctionWrapper event;

    void open(const std::string &saved);
    uint64_t nowNs() const;
    void step();
    void wake();
    bool rests();
    void check(int32_t outcome) const;
};

} // namespace gem5

#endif // __DEV_STORAGE_SSD_SSD_DISK_HH__
