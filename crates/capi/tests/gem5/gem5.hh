/* The part of gem5 24.0 that the example for gem5 uses, with its names and signatures: an event queue, images, checkpoints.
 * The headers beside it, which have gem5's names, include this. */
#ifndef STUB_GEM5_HH
#define STUB_GEM5_HH

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <functional>
#include <map>
#include <string>

namespace gem5
{

typedef uint64_t Tick;

inline Tick theTick = 0;
inline Tick curTick() { return theTick; }

namespace sim_clock::as_int
{
inline Tick ns = 1000;
}

#define fatal_if(cond, ...) \
    ((cond) ? (fprintf(stderr, "fatal: %s\n", #cond), exit(1)) : void(0))

class Event
{
  public:
    virtual ~Event() {}
    virtual void process() = 0;
    bool scheduled() const { return is_scheduled; }
    Tick at = 0;
    bool is_scheduled = false;
};

/* Events of one queue, by tick. */
inline std::multimap<Tick, Event *> theQueue;

class EventFunctionWrapper : public Event
{
  public:
    EventFunctionWrapper(const std::function<void(void)> &callback, const std::string &name, bool del = false)
        : callback(callback)
    {
        (void)name;
        (void)del;
    }
    void process() override { callback(); }

  private:
    std::function<void(void)> callback;
};

enum class DrainState { Running, Draining, Drained, Resuming };

class CheckpointOut : public std::map<std::string, std::string>
{};

class CheckpointIn
{
  public:
    std::map<std::string, std::string> values;
    const std::string getCptDir() { return dir(); }
    static std::string dir() { return theDir; }
    inline static std::string theDir = ".";
};

#define SERIALIZE_SCALAR(scalar) cp[#scalar] = scalar
#define UNSERIALIZE_SCALAR(scalar) scalar = cp.values[#scalar]

struct SimObjectParams
{
    std::string name;
};
struct DiskImageParams : SimObjectParams
{};

class SimObject
{
  public:
    SimObject(const SimObjectParams &p) : the_name(p.name) {}
    virtual ~SimObject() {}
    const std::string name() const { return the_name; }
    virtual DrainState drain() { return DrainState::Drained; }
    virtual void serialize(CheckpointOut &cp) const { (void)cp; }
    virtual void unserialize(CheckpointIn &cp) { (void)cp; }
    void schedule(Event &event, Tick when)
    {
        event.at = when;
        event.is_scheduled = true;
        theQueue.emplace(when, &event);
    }
    void deschedule(Event &event)
    {
        auto range = theQueue.equal_range(event.at);
        for (auto it = range.first; it != range.second; ++it)
            if (it->second == &event) {
                theQueue.erase(it);
                break;
            }
        event.is_scheduled = false;
    }
    void reschedule(Event &event, Tick when, bool always = false)
    {
        (void)always;
        deschedule(event);
        schedule(event, when);
    }
    DrainState drain_state = DrainState::Running;

  protected:
    DrainState drainState() const { return drain_state; }
    void signalDrainDone() const { const_cast<SimObject *>(this)->drain_state = DrainState::Drained; }

  private:
    const std::string the_name;
};

class DiskImage : public SimObject
{
  protected:
    bool initialized;

  public:
    typedef DiskImageParams Params;
    DiskImage(const Params &p) : SimObject(p), initialized(false) {}
    virtual ~DiskImage() {}
    virtual std::streampos size() const = 0;
    virtual std::streampos read(uint8_t *data, std::streampos offset) const = 0;
    virtual std::streampos write(const uint8_t *data, std::streampos offset) = 0;
};

struct SsdDiskParams : DiskImageParams
{
    DiskImage *child;
    std::string device;
    std::string settings;
};

/* Does what is scheduled, in order of time. */
inline void
simulate()
{
    while (!theQueue.empty()) {
        auto first = theQueue.begin();
        Event *event = first->second;
        theTick = first->first;
        theQueue.erase(first);
        event->is_scheduled = false;
        event->process();
    }
}

} // namespace gem5

#endif
