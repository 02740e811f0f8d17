package experiment

import "treeline/internal/measure/record"

// EventKind says what an Event tells.
type EventKind string

// What happens in an experiment, in this order for each start. EventWaiting, EventBusy and EventSetAside come only on a
// machine that others use too.
const (
	EventStart    EventKind = "start"     // a server is being started
	EventReady    EventKind = "ready"     // it answers
	EventWaiting  EventKind = "waiting"   // the machine is not idle; Text says how busy
	EventBusy     EventKind = "busy"      // it did not become idle, and the start goes on; Text says how busy
	EventRequest  EventKind = "request"   // Done of Total requests are finished
	EventMeasured EventKind = "measured"  // the start is on disk; Bench holds its figures
	EventSetAside EventKind = "set-aside" // the start was disturbed and is measured again; Text says by what
	EventKept     EventKind = "kept"      // the start was found finished when the run was resumed
)

// Event is one step of an experiment, for people who watch. Start counts from 1 over the whole run.
type Event struct {
	Kind          EventKind
	Block, Blocks int
	Start, Starts int
	Arm           string
	Text          string
	Done, Total   int
	Measured      *record.Start
	TokS          float64 // of the measured start: 1000 / mean TPOT, 0 unknown
}
