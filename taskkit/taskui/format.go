package taskui

import (
	"errors"
	"fmt"
	"html/template"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/google/uuid"

	"taskkit.dev/taskkit"
)

// functions are what templates call.
var functions = template.FuncMap{
	"about": about, "ago": ago, "bytes": bytesText, "count": count, "duration": duration, "clean": clean, "percent": percent, "rate": rate,
	"short": short, "status": statusText, "class": statusClass, "when": when, "pair": pair,
}

// pair gives a template two values as .Page and .It: what a part needs besides the frame.
func pair(page, it any) map[string]any { return map[string]any{"Page": page, "It": it} }

// count returns a number with separators: 1,234,567.
func count(n int64) string {
	s := strconv.FormatInt(n, 10)
	from := 0
	if n < 0 {
		from = 1
	}
	for i := len(s) - 3; i > from; i -= 3 {
		s = s[:i] + "," + s[i:]
	}
	return s
}

// roughCount returns a large number in about three digits, as 9.62 M.
func roughCount(n int64) string {
	digits := func(f float64) string { return strconv.FormatFloat(f, 'g', 3, 64) }
	switch {
	case n >= 1e9:
		return digits(float64(n)/1e9) + " G"
	case n >= 1e6:
		return digits(float64(n)/1e6) + " M"
	case n >= 1e4:
		return count(n / 1000 * 1000)
	default:
		return count(n)
	}
}

// percent returns a share of a total, which is less than 100 % until all is done.
func percent(n, total int64) string {
	if total <= 0 {
		return ""
	}
	return strconv.FormatInt(n*100/total, 10) + " %"
}

// rate returns items a second.
func rate(perSecond float64) string {
	switch {
	case perSecond == 0:
		return "0/s"
	case perSecond >= 100:
		return count(int64(perSecond)) + "/s"
	case perSecond >= 1:
		return fmt.Sprintf("%.1f/s", perSecond)
	default:
		return fmt.Sprintf("%.1f/min", perSecond*60)
	}
}

// about returns an estimate for people.
func about(d time.Duration) string {
	if d < time.Second {
		return duration(d)
	}
	return "about " + duration(d)
}

// duration returns a duration in two units.
func duration(d time.Duration) string {
	if d < 0 {
		d = 0
	}
	const day = 24 * time.Hour
	switch {
	case d < time.Second:
		return "under 1 s"
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return units(int(d.Minutes()), "min", int(d.Seconds())%60, "s")
	case d < day:
		return units(int(d.Hours()), "h", int(d.Minutes())%60, "min")
	default:
		return units(int(d/day), "d", int(d.Hours())%24, "h")
	}
}

func units(n int, unit string, rest int, small string) string {
	if rest == 0 || n >= 10 {
		return fmt.Sprintf("%d %s", n, unit)
	}
	return fmt.Sprintf("%d %s %d %s", n, unit, rest, small)
}

// ago returns how long ago a time was, in one unit: a part that is read again changes once a minute at most.
func ago(t time.Time) string {
	d := time.Since(t)
	past := func(n int, unit string) string { return fmt.Sprintf("%d %s ago", n, unit) }
	switch {
	case d < -time.Minute:
		return "in " + duration((-d).Truncate(time.Minute))
	case d < time.Minute:
		return "just now"
	case d < time.Hour:
		return past(int(d.Minutes()), "min")
	case d < 48*time.Hour:
		return past(int(d.Hours()), "h")
	default:
		return past(int(d.Hours())/24, "days")
	}
}

// when returns a time as a machine reads it.
func when(t time.Time) string { return t.UTC().Format(time.RFC3339) }

// short returns the end of an id, by which [taskkit.Client.Resolve] finds it: the first half of ids made at the same time looks alike.
func short(id uuid.UUID) string {
	s := id.String()
	return s[len(s)-8:]
}

// statusText returns a status in a word for people.
func statusText(t *taskkit.Task) string {
	switch {
	case t.Control == taskkit.ControlDelete:
		return "being deleted"
	case t.Control == taskkit.ControlStop:
		return "stopping"
	case t.Control == taskkit.ControlPause && t.Status != taskkit.StatusQueued:
		return "pausing"
	case t.Control == taskkit.ControlPause:
		return "paused"
	case t.Status == taskkit.StatusCompleted && t.Partial:
		return "stopped"
	case t.Status == taskkit.StatusCompleted:
		return "done"
	case t.Status == taskkit.StatusFailure:
		return "failed"
	case t.Status == taskkit.StatusError:
		return "not run"
	case t.Status == taskkit.StatusQueued && t.Running():
		return "running"
	case t.Status == taskkit.StatusQueued:
		return "queued"
	case t.Status == taskkit.StatusScheduling:
		return "starting"
	default:
		return "running"
	}
}

// statusClass returns the class of a status in the style.
func statusClass(t *taskkit.Task) string { return strings.ReplaceAll(statusText(t), " ", "-") }

// clean returns a text with marks in place of what changes the direction of the text around it or cannot be seen.
func clean(s string) string {
	return strings.Map(func(c rune) rune {
		if c == '\n' || c == '\t' || c == ' ' || unicode.IsPrint(c) {
			return c
		}
		return '\uFFFD'
	}, s)
}

// bytesText returns a size.
func bytesText(n int64) string {
	switch {
	case n >= 1<<20:
		return fmt.Sprintf("%.1f MiB", float64(n)/(1<<20))
	case n >= 1<<10:
		return fmt.Sprintf("%.1f KiB", float64(n)/(1<<10))
	default:
		return fmt.Sprintf("%d bytes", n)
	}
}

// plain returns the text of an error without the name of the package.
func plain(err error) string { return trimName(err.Error()) }

func trimName(text string) string { return clean(strings.ReplaceAll(text, "taskkit: ", "")) }

// errorText returns the first line of an error.
func errorText(err error) string {
	if err == nil {
		return ""
	}
	if p, ok := errors.AsType[*problem](err); ok {
		return p.title
	}
	text, _, _ := strings.Cut(plain(err), "\n")
	return text
}
