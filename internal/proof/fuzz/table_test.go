package fuzz_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"time"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskjson"
)

// nasty are texts that something somewhere does not take for what they are.
var nasty = []string{
	"", "a", " ", "\x00", "a\x00b", "\xff", "a\xc3", "\xed\xa0\x80", "\ufffd", "\ufeffx", "\u202eabc", "a\u200bb", "e\u0301", "\u00e9", "\U0001F469\u200D\U0001F4BB",
	"\U0010ffff", "\ufdd0", "\r\nlevel=ERROR", "\x1b[31m", "\x7f", "'; DROP TABLE step; --", `\`, `"`, "%_", "$1", "{s}{now}", "?", "NULL", "null", "-0", "infinity",
	strings.Repeat("x", 100), strings.Repeat("x", 101), strings.Repeat("\u00e9", 250), strings.Repeat("x", 501), strings.Repeat("x", 9600), strings.Repeat("x ", 20_000),
}

// doors are the options of Submit that take a text, and where it shows again.
var doors = map[string]struct {
	option func(string) taskkit.SubmitOption
	read   func(*taskkit.Task) string
	filter func(string) taskkit.Filter
}{
	"queue":           {taskkit.WithQueue, func(t *taskkit.Task) string { return t.Queue }, func(s string) taskkit.Filter { return taskkit.Filter{Queue: s} }},
	"reason":          {func(s string) taskkit.SubmitOption { return taskkit.WithReason(s) }, func(t *taskkit.Task) string { return t.Reason }, nil},
	"unique key":      {taskkit.WithUniqueKey, func(t *taskkit.Task) string { return t.UniqueKey }, func(s string) taskkit.Filter { return taskkit.Filter{UniqueKey: s} }},
	"reference":       {taskkit.WithCoalescing, func(t *taskkit.Task) string { return t.Reference }, func(s string) taskkit.Filter { return taskkit.Filter{Reference: s} }},
	"trace":           {taskkit.WithTraceparent, func(t *taskkit.Task) string { return t.Traceparent }, nil},
	"idempotency key": {taskkit.WithIdempotencyKey, nil, nil},
}

// submitText puts a text through a door of both databases.
func submitText(tb testing.TB, sides []*side, door, text string) {
	tb.Helper()
	d := doors[door]
	said := make([]string, len(sides))
	for i, s := range sides {
		id, err := taskkit.Submit(tb.Context(), s.db, kind, spec{}, d.option(text), s.schema, taskkit.System())
		typed(tb, err)
		said[i] = fmt.Sprint(err)
		if err == nil {
			t, err := s.client.Task(tb.Context(), id)
			if err != nil {
				tb.Fatal(err)
			}
			if d.read != nil && d.read(t) != text {
				tb.Fatalf("%s: %s %q comes back as %q", s.name, door, text, d.read(t))
			}
		}
		if d.filter != nil {
			found, _, ferr := s.client.Tasks(tb.Context(), d.filter(text))
			typed(tb, ferr)
			one := len(found) == 1 && found[0].ID == id
			if err == nil && !one {
				tb.Fatalf("%s: %d tasks found by %s %q, %v", s.name, len(found), door, text, ferr)
			}
			said[i] += fmt.Sprint("; find: ", ferr)
		}
		if err == nil { // so that the text is free again
			if _, err := s.client.Delete(tb.Context(), id, taskkit.WithReason(text)); err != nil {
				tb.Fatalf("%s: delete because of %q: %v", s.name, text, err)
			}
			events, err := s.client.Events(tb.Context(), id, 1)
			if err != nil || len(events) != 1 || storable(text) && len(text) < 10_000 && events[0].Reason != text || !storable(events[0].Reason) {
				tb.Fatalf("%s: the reason %q was kept as %+v, %v", s.name, text, events, err)
			}
		}
	}
	same(tb, fmt.Sprintf("%s %q", door, text), said)
}

func TestDoors(t *testing.T) {
	t.Parallel()
	sides := both(t)
	for _, text := range nasty {
		for door := range doors {
			submitText(t, sides, door, text)
		}
		submitSpec(t, sides, mustJSON(t, map[string]any{"text": text}))
		submitSpec(t, sides, mustJSON(t, map[string]any{"map": map[string]int{text: 1}}))
	}
}

// specs are JSON texts that readers of JSON disagree on.
var specs = []string{
	`{}`, `null`, `[]`, `""`, ``, ` `, `{`, `{} {}`, "\ufeff{}", `{"text":"a"}`, `{"Text":"a"}`, `{"text":"a","text":"b"}`, `{"text":"a","TEXT":"b"}`, `{"text":null}`,
	`{"text":"\u0000"}`, `{"text":"\ud800"}`, `{"text":"\ud83d\ude00"}`, "{\"text\":\"\x00\"}", "{\"text\":\"\xff\"}", `{"unknown":1}`, `{"raw":9007199254740993}`,
	`{"raw":18446744073709551616}`, `{"raw":1e400}`, `{"raw":1e3}`, `{"raw":-0}`, `{"raw":{"a":1,"a":2}}`, `{"raw":{"b":1,"a":2}}`, `{"raw":{"\u0000":1}}`, `{"raw":["\ud800"]}`,
	`{"raw":"1e400"}`, `{"map":{"":1}}`, `{"map":{"a":1e3}}`, `{"map":{"a":1.5}}`, `{"map":{"a":9223372036854775808}}`, `{"data":"AP8="}`, `{"data":"%"}`,
	`{"raw":` + strings.Repeat("[", 99) + strings.Repeat("]", 99) + `}`, `{"raw":` + strings.Repeat("[", 101) + strings.Repeat("]", 101) + `}`,
	`{"raw":` + strings.Repeat("[", 20_000) + strings.Repeat("]", 20_000) + `}`, `{"text":"` + strings.Repeat("x", 1<<20) + `"}`,
}

func mustJSON(tb testing.TB, v any) []byte {
	tb.Helper()
	raw, err := json.Marshal(v)
	if err != nil {
		tb.Fatal(err)
	}
	return raw
}

// submitSpec submits a spec as JSON to both databases.
func submitSpec(tb testing.TB, sides []*side, raw []byte) {
	tb.Helper()
	said := make([]string, len(sides))
	for i, s := range sides {
		id, err := s.r.SubmitJSON(tb.Context(), s.db, "input", raw, s.schema, taskkit.WithDelay(time.Hour), taskkit.System())
		typed(tb, err)
		said[i] = fmt.Sprint(err)
		if err != nil {
			continue
		}
		t, err := taskkit.Get(tb.Context(), s.client, kind, id)
		if err != nil {
			tb.Fatalf("%s: %.200q was accepted and cannot be read: %v", s.name, raw, err)
		}
		said[i] = fmt.Sprintf("%#v %s", t.Spec, t.Task.SpecJSON)
	}
	same(tb, fmt.Sprintf("spec %.200q", raw), said)
}

func TestSpecs(t *testing.T) {
	t.Parallel()
	sides := both(t)
	for _, s := range specs {
		submitSpec(t, sides, []byte(s))
	}
	submitSpec(t, sides, mustJSON(t, map[string]string{"text": strings.Repeat("x", taskjson.MaxSize)}))
}

// hows are the places where an executor leaves bytes.
var hows = []string{"state", "result", "error", "code", "panic", "item"}

func logInput(tb testing.TB, sides []*side, how string, data []byte) {
	tb.Helper()
	said := make([]string, len(sides))
	for i, s := range sides {
		_, said[i] = s.ran(tb, how, data)
		exact := map[string]string{"state": "COMPLETED %[2]q state %[1]q", "result": "COMPLETED %[2]q state %[2]q result %[1]q"}[how]
		if exact != "" && storable(string(data)) && len(data) < taskjson.MaxSize/8 && !strings.HasPrefix(said[i], fmt.Sprintf(exact, data, "")) {
			tb.Fatalf("%s: %s %.200q ended as %.300s", s.name, how, data, said[i])
		}
	}
	same(tb, fmt.Sprintf("%s %.200q", how, data), said)
}

func TestWhatExecutorsLeave(t *testing.T) {
	t.Parallel()
	sides := both(t)
	for _, s := range sides {
		s.work(t)
	}
	for _, text := range append(nasty, strings.Repeat("long\x00", 1<<18)) {
		for _, how := range hows {
			t.Run(how, func(t *testing.T) {
				t.Parallel()
				logInput(t, sides, how, []byte(text))
			})
		}
	}
}

func TestTimes(t *testing.T) {
	t.Parallel()
	sides := both(t)
	for _, at := range []time.Time{
		{},
		time.Date(1, 1, 1, 0, 0, 0, 1000, time.UTC), time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(-5000, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(9999, 12, 31, 23, 59, 59, 999_999_999, time.UTC), time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC), time.Date(294277, 1, 1, 0, 0, 0, 0, time.UTC),
		time.Date(10000, 1, 1, 0, 30, 0, 0, time.FixedZone("east", 3600)), time.Unix(1<<62, 0), time.Unix(-1<<62, 0), time.Date(2016, 12, 31, 23, 59, 60, 0, time.UTC),
	} {
		said := make([]string, len(sides))
		for i, s := range sides {
			id, err := taskkit.Submit(t.Context(), s.db, kind, spec{}, taskkit.WithNotBefore(at), s.schema, taskkit.System())
			typed(t, err)
			said[i] = fmt.Sprint(err)
			if err != nil {
				continue
			}
			task, err := s.client.Task(t.Context(), id)
			if err != nil {
				t.Fatal(err)
			}
			if d := task.NotBefore.Sub(at); !at.IsZero() && (d > time.Millisecond || d < -time.Millisecond) {
				t.Errorf("%s: %v comes back as %v", s.name, at, task.NotBefore)
			}
		}
		same(t, at.String(), said)
	}
	for _, d := range []time.Duration{-1, 1, 1<<63 - 1} {
		said := make([]string, len(sides))
		for i, s := range sides {
			_, err := taskkit.Submit(t.Context(), s.db, kind, spec{}, taskkit.WithDelay(d), s.schema, taskkit.System())
			typed(t, err)
			said[i] = fmt.Sprint(err)
		}
		same(t, d.String(), said)
	}
}

func TestFilters(t *testing.T) {
	t.Parallel()
	sides := both(t)
	for _, f := range []taskkit.Filter{
		{IDs: make([]taskkit.ID, 10_000)},
		{IDs: make([]taskkit.ID, 70_000)},
		{Kinds: make([]string, 70_000)},
		{Statuses: make([]taskkit.Status, 70_000)},
		{Statuses: []taskkit.Status{"NONSENSE\x00"}},
		{Kinds: []string{"a\x00"}},
		{Queue: "\xff"},
		{Limit: -1},
		{Limit: 1 << 62},
	} {
		said := make([]string, len(sides))
		for i, s := range sides {
			found, _, err := s.client.Tasks(t.Context(), f)
			typed(t, err)
			said[i] = fmt.Sprint(len(found), err)
		}
		same(t, fmt.Sprintf("%.100v", f), said)
	}
	for _, s := range sides {
		_, _, err := s.client.Counts(t.Context(), "a\x00")
		typed(t, err)
		for _, limit := range []int{-1, 0, 1<<63 - 1} {
			if _, err := s.client.Attempts(t.Context(), taskkit.ID{}, limit); err != nil {
				t.Errorf("%s: attempts, at most %d: %v", s.name, limit, err)
			}
			if _, err := s.client.Events(t.Context(), taskkit.ID{}, limit); err != nil {
				t.Errorf("%s: events, at most %d: %v", s.name, limit, err)
			}
		}
	}
}
