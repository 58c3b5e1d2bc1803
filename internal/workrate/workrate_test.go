package workrate_test

import (
	"math"
	"slices"
	"testing"
	"time"

	"taskkit.dev/internal/workrate"
)

// of returns samples of five seconds each.
func of(items ...int64) (samples []workrate.Sample) {
	for _, n := range items {
		samples = append(samples, workrate.Sample{Items: n, Took: 5 * time.Second})
	}
	return samples
}

func TestLeft(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		items     int64
		samples   []workrate.Sample
		low, high time.Duration
	}{
		"no sample":               {100, nil, 0, 0},
		"no item":                 {0, of(10), 0, 0},
		"total below the counter": {-1, of(10), 0, 0},
		"samples without items":   {100, of(0, 0), 0, 0},
		"one sample":              {100, of(50), 5 * time.Second, 20 * time.Second},
		"two that agree":          {100, of(50, 50), 6666666666, 15 * time.Second},
		"many that agree":         {240, of(slices.Repeat([]int64{10}, 24)...), 115200 * time.Millisecond, 125 * time.Second},
		"some that differ":        {300, of(slices.Repeat([]int64{50, 150}, 4)...), 9775027839, 23017837257},
		"a slow part":             {1000, of(1000, 1000, 1000, 1), 4000800160, 11101486664},
		"more than a duration":    {math.MaxInt64, of(1), math.MaxInt64, math.MaxInt64},
		"one without time":        {100, append(of(50), workrate.Sample{Items: 7}), 5 * time.Second, 20 * time.Second},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			low, high, known := workrate.Left(c.items, c.samples)
			if known != (c.high > 0) || (low-c.low).Abs() > time.Millisecond || (high-c.high).Abs() > time.Millisecond {
				t.Errorf("got %d to %d, known %t; want %d to %d", low, high, known, c.low, c.high)
			}
		})
	}
}

func TestHistory(t *testing.T) {
	t.Parallel()
	var h workrate.History
	if r := h.PerSecond(); r != 0 {
		t.Errorf("rate of nothing: %v", r)
	}
	h = h.Add(workrate.Sample{Items: 1, Took: time.Hour})
	before := h
	for n := range int64(40) {
		h = h.Add(workrate.Sample{Items: n, Took: 5 * time.Second})
	}
	if len(before.Samples) != 1 || len(h.Samples) != workrate.MaxSamples {
		t.Errorf("%d samples before, %d after", len(before.Samples), len(h.Samples))
	}
	// The sample without items is none, and took no time.
	if want := (workrate.Sample{Items: 1 + 39*20, Took: time.Hour + 39*5*time.Second}); h.All != want {
		t.Errorf("all: %v, want %v", h.All, want)
	}
	if got, want := h.PerSecond(), float64(28+29+30+31+32+33+34+35+36+37+38+39)/60; math.Abs(got-want) > 1e-9 {
		t.Errorf("rate %v, want that of the last minute, %v", got, want)
	}
	if got := h.Each(); len(got) != workrate.MaxSamples || got[0] != 16.0/5 || got[23] != 39.0/5 {
		t.Errorf("each: %v", got)
	}
	if got := h.Longest(); got != 5*time.Second {
		t.Errorf("longest %v", got)
	}
	text, err := h.Encode()
	if err != nil {
		t.Fatal(err)
	}
	if len(text) > 1024 {
		t.Errorf("%d bytes are stored", len(text))
	}
	back, err := workrate.Decode(text)
	if err != nil || back.All != h.All || !slices.Equal(back.Samples, h.Samples) {
		t.Errorf("read back %v, %v", back, err)
	}
	if empty, err := workrate.Decode(nil); err != nil || len(empty.Samples) != 0 {
		t.Errorf("read from nothing: %v, %v", empty, err)
	}
	if _, err := workrate.Decode([]byte("{")); err == nil {
		t.Error("half a history was read")
	}
}
