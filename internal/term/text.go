package term

import (
	"fmt"
	"strings"
	"time"
)

// Bytes is a size as people read it, in powers of ten: 98362432 is "98.4 MB".
func Bytes(n int64) string {
	for _, unit := range []struct {
		size float64
		name string
	}{{1e12, "TB"}, {1e9, "GB"}, {1e6, "MB"}, {1e3, "kB"}} {
		// What %.1f would round up to 1000.0 of a unit is 1.0 of the next.
		if float64(n) >= unit.size*0.99995 {
			return fmt.Sprintf("%.1f %s", float64(n)/unit.size, unit.name)
		}
	}
	return fmt.Sprintf("%d B", n)
}

// Duration is a time as people read it: "850 ms", "6.1 s", "2 min 8 s", "3 h 5 min".
func Duration(d time.Duration) string {
	switch s := int(d.Round(time.Second) / time.Second); {
	case d < 999500*time.Microsecond:
		return fmt.Sprintf("%d ms", d.Round(time.Millisecond)/time.Millisecond)
	case d < 59950*time.Millisecond:
		return fmt.Sprintf("%.1f s", d.Seconds())
	case s < 3600:
		return fmt.Sprintf("%d min %d s", s/60, s%60)
	default:
		m := int(d.Round(time.Minute) / time.Minute)
		return fmt.Sprintf("%d h %d min", m/60, m%60)
	}
}

// Bar is a bar of the given width in characters, brackets included, filled by done of total.
func Bar(done, total int64, width int) string {
	inner := max(width-2, 1)
	fill := 0
	if total > 0 {
		fill = int(float64(inner) * float64(min(max(done, 0), total)) / float64(total))
	}
	return "[" + strings.Repeat("=", fill) + strings.Repeat(" ", inner-fill) + "]"
}
