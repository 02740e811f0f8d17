package certify

import (
	"os"

	"treeline/internal/host"
	"treeline/internal/measure/record"
)

// CPU is the use of the machine's processors during a test, as shares of all of them.
type CPU struct {
	Known  bool // false where the operating system does not tell
	Own    float64
	Sender float64 // part of Own: the clock's process
	Others float64 // other programs; a server under test that this process did not start is one of them
	Steal  float64 // taken by the hypervisor
}

// Record is the form that bench reports, nil when nothing is known.
func (c CPU) Record() *record.ClientCPU {
	if !c.Known {
		return nil
	}
	return &record.ClientCPU{Own: c.Own, Sender: c.Sender, Others: c.Others, Steal: c.Steal}
}

// Background is the share of the processors that was not this process's to use.
func (c CPU) Background() float64 { return c.Others + c.Steal }

// reading is one look at the counters: of all of this process's tree, and of the clock alone.
type reading struct {
	all, sender host.CPUTimes
	ok          bool
}

// readCPU looks at the counters. A nil clock has no process of its own.
func (c *Clock) readCPU() reading {
	all, err := host.ReadCPU(os.Getpid())
	r := reading{all: all, ok: err == nil}
	if c != nil && c.pid != 0 {
		sender, err := host.ReadCPU(c.pid)
		r.sender, r.ok = sender, r.ok && err == nil
	}
	return r
}

func (r reading) since(before reading) CPU {
	if !r.ok || !before.ok {
		return CPU{}
	}
	load := r.all.Since(before.all)
	return CPU{Known: true, Own: load.Own, Sender: r.sender.Since(before.sender).Own, Others: load.Foreign, Steal: load.Steal}
}

// WatchCPU begins to watch the processors; the function it returns tells what they did since.
func WatchCPU() func() CPU {
	var none *Clock
	before := none.readCPU()
	return func() CPU { return none.readCPU().since(before) }
}
