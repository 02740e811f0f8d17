package experiment

import (
	"testing"

	"treeline/internal/measure/certify"
	"treeline/internal/measure/record"
	"treeline/internal/measure/targettest"
)

// With a clock a start has a certificate and what was seen during the load; without one it says that it has not; and a
// clock that died is a doubt, not the end. What the figures are is the machine's affair.
func TestClientIsTestedAndWatched(t *testing.T) {
	clock, err := certify.StartClock("")
	if err != nil {
		t.Fatal(err)
	}
	defer clock.Close()
	dead, err := certify.StartClock("")
	if err != nil {
		t.Fatal(err)
	}
	dead.Close()
	server := targettest.Start(t, targettest.Options{Step: 5e6})
	unsure := func(b *record.Bench) bool {
		for _, w := range b.Warnings {
			if w.Code == record.WarnClientUnsure {
				return true
			}
		}
		return false
	}
	for name, c := range map[string]*certify.Clock{"live": clock, "dead": dead, "none": nil} {
		o := options(server, 4)
		o.Client, o.Clock, o.Warmup = nil, c, 1
		b, err := MeasureStart(t.Context(), o)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if watched := b.Client.During != nil && b.Client.During.N > 0; watched != (name == "live") {
			t.Errorf("%s clock: client %+v", name, b.Client)
		}
		if name != "live" && !unsure(b) {
			t.Errorf("%s clock: warnings %v, want %s", name, b.Warnings, record.WarnClientUnsure)
		}
	}
}
