#include "dev/storage/ssd/ssd_disk.hh"

#include <sstream>
#include <vector>

#include "base/logging.hh"
#include "params/SsdDisk.hh"
#include "sim/core.hh"
#include "sim/cur_tick.hh"
#include "sim/serialize.hh"

namespace gem5
{

SsdDisk::SsdDisk(const Params &p)
    : DiskImage(p), child(p.child), drive(nullptr), device(p.device), settings(p.settings), began(curTick()),
      event([this] { step(); }, name() + ".step")
{
    fatal_if(ssdlab_abi() != SSDLAB_ABI, "libssdlab %s is not the library of this header", ssdlab_version());
    open("");
    initialized = true;
}

SsdDisk::~SsdDisk()
{
    if (event.scheduled())
        deschedule(event);
    ssdlab_close(&drive);
}

void
SsdDisk::open(const std::string &saved)
{
    std::vector<std::string> words;
    std::istringstream lines(settings);
    for (std::string word; std::getline(lines, word, ';');)
        words.push_back(word);
    if (!saved.empty())
        words.insert(words.end(), {"run.load_drive='" + saved + "'", "run.precondition=none"});
    std::vector<const char *> pointers;
    for (const std::string &word : words)
        pointers.push_back(word.c_str());
    char message[512];
    ssdlab_close(&drive);
    int32_t outcome =
        ssdlab_open(device.c_str(), pointers.data(), pointers.size(), &drive, message, sizeof(message));
    fatal_if(outcome != SSDLAB_OK, "%s: %s", name(), message);
    began = curTick();
}

std::streampos
SsdDisk::size() const
{
    return child->size();
}

std::streampos
SsdDisk::read(uint8_t *data, std::streampos offset) const
{
    return child->read(data, offset);
}

std::streampos
SsdDisk::write(const uint8_t *data, std::streampos offset)
{
    return child->write(data, offset);
}

uint64_t
SsdDisk::capacityBytes() const
{
    return ssdlab_capacity_bytes(drive);
}

uint64_t
SsdDisk::nowNs() const
{
    const Tick ns = sim_clock::as_int::ns;
    return (curTick() - began + ns - 1) / ns;
}

void
SsdDisk::check(int32_t outcome) const
{
    fatal_if(outcome != SSDLAB_OK, "%s: %s", name(), ssdlab_message(drive));
}

void
SsdDisk::access(uint8_t op, uint64_t offset, uint64_t bytes, Done done)
{
    ssdlab_request request = {};
    request.op = op;
    request.offset = offset;
    request.bytes = bytes;
    request.handle = SSDLAB_NO_HANDLE;
    uint64_t tag;
    check(ssdlab_submit(drive, nowNs(), &request, &tag));
    waiting.emplace(tag, std::move(done));
    wake();
}

/* Lets the drive come to the present, and tells who waits. */
void
SsdDisk::step()
{
    const ssdlab_answer *first;
    size_t count;
    check(ssdlab_advance(drive, nowNs(), &first, &count));
    /* Who is told may ask again. */
    const std::vector<ssdlab_answer> answers(first, first + count);
    for (const ssdlab_answer &answer : answers) {
        auto found = waiting.find(answer.tag);
        Done done = std::move(found->second);
        waiting.erase(found);
        done(answer);
    }
    wake();
    if (drainState() == DrainState::Draining && rests())
        signalDrainDone();
}

/* A drive that has done everything is shut down, so that its write buffer is empty. */
bool
SsdDisk::rests()
{
    if (!event.scheduled()) {
        check(ssdlab_shut_down(drive));
        wake();
    }
    return !event.scheduled();
}

/* The next step comes when something happens in the drive. */
void
SsdDisk::wake()
{
    const uint64_t next = ssdlab_next_event_ns(drive);
    if (next == SSDLAB_NEVER)
        return;
    const Tick at = std::max(curTick(), began + next * sim_clock::as_int::ns);
    if (event.scheduled())
        reschedule(event, at);
    else
        schedule(event, at);
}

DrainState
SsdDisk::drain()
{
    return rests() ? DrainState::Drained : DrainState::Draining;
}

void
SsdDisk::serialize(CheckpointOut &cp) const
{
    std::string saved = name() + ".drive";
    SERIALIZE_SCALAR(saved);
    check(ssdlab_save(drive, (CheckpointIn::dir() + "/" + saved).c_str()));
}

void
SsdDisk::unserialize(CheckpointIn &cp)
{
    std::string saved;
    UNSERIALIZE_SCALAR(saved);
    open(cp.getCptDir() + "/" + saved);
}

} // namespace gem5
