// Package workrate computes how fast a task has processed its items, and how long the
// remaining ones will take. It is pure. All times are working time: waits, pauses and
// failed batches do not count.
package workrate

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"time"
)

const (
	// MaxSamples is the largest number of samples in a history. Older ones are dropped.
	MaxSamples = 24
	// recently is the least working time from which a rate is computed.
	recently = time.Minute
)

// Sample is a number of items and the time that they took.
type Sample struct {
	Items int64         `json:"n"`
	Took  time.Duration `json:"t"`
}

// valid reports whether a sample has items and a duration.
func (s Sample) valid() bool { return s.Items > 0 && s.Took > 0 }

// History is how fast a task has processed its items so far.
type History struct {
	All     Sample   `json:"all"`     // as far as it was measured
	Samples []Sample `json:"samples"` // the newest MaxSamples ones, oldest first
}

// Add returns the history with a further sample. A sample without items changes
// nothing.
func (h History) Add(s Sample) History {
	if !s.valid() {
		return h
	}
	h.All.Items += s.Items
	h.All.Took += s.Took
	h.Samples = append(slices.Clone(h.Samples), s)
	h.Samples = h.Samples[max(len(h.Samples)-MaxSamples, 0):]
	return h
}

// PerSecond returns the items per second in the last minute of work, and 0 without
// samples.
func (h History) PerSecond() float64 {
	var sum Sample
	for _, s := range slices.Backward(h.Samples) {
		sum.Items += s.Items
		sum.Took += s.Took
		if sum.Took >= recently {
			break
		}
	}
	if !sum.valid() {
		return 0
	}
	return float64(sum.Items) / sum.Took.Seconds()
}

// Each returns the items per second in each sample, the oldest first.
func (h History) Each() (all []float64) {
	for _, s := range h.Samples {
		all = append(all, float64(s.Items)/s.Took.Seconds())
	}
	return all
}

// Longest returns the time of the longest sample.
func (h History) Longest() (longest time.Duration) {
	for _, s := range h.Samples {
		longest = max(longest, s.Took)
	}
	return longest
}

// Left estimates the time for a number of items as a range. It is unknown without a
// sample or an item.
//
// The middle is the mean time of an item. The range is as wide as the samples differ
// from it: their standard deviation, relative to the time of a sample. It does not
// become narrower with the number of samples, because the items to come may be
// as different from all of these as these are from each other. With few samples it is
// wider, by a factor of 2 for one and 1 + 1/n for n.
func Left(items int64, samples []Sample) (low, high time.Duration, known bool) {
	var sum Sample
	var count float64
	for _, s := range samples {
		if s.valid() {
			sum.Items += s.Items
			sum.Took += s.Took
			count++
		}
	}
	if count == 0 || items <= 0 {
		return 0, 0, false
	}
	perItem := sum.Took.Seconds() / float64(sum.Items)
	spread := 1 / count
	if count > 1 {
		var squares float64
		for _, s := range samples {
			if s.valid() {
				squares += math.Pow(s.Took.Seconds()-perItem*float64(s.Items), 2)
			}
		}
		spread = max(spread, math.Sqrt(squares/(count-1))/(sum.Took.Seconds()/count))
	}
	mean := perItem * float64(items)
	return seconds(mean / (1 + spread)), seconds(mean * (1 + spread)), true
}

// seconds returns a number of seconds as a duration, at most the longest.
func seconds(s float64) time.Duration {
	if s >= time.Duration(math.MaxInt64).Seconds() {
		return math.MaxInt64
	}
	return time.Duration(s * float64(time.Second))
}

// Encode returns the history as it is stored.
func (h History) Encode() (json.RawMessage, error) {
	text, err := json.Marshal(h)
	if err != nil {
		return nil, fmt.Errorf("encode the rate of a task: %w", err)
	}
	return text, nil
}

// Decode decodes a stored history; nothing stands for an empty one.
func Decode(text []byte) (h History, err error) {
	if len(text) == 0 {
		return h, nil
	}
	if err := json.Unmarshal(text, &h); err != nil {
		return h, fmt.Errorf("decode the rate of a task: %w", err)
	}
	return h, nil
}
