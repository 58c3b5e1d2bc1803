package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"slices"
	"strings"
	"sync"
	"time"
)

// us is the name of the side whose ratios are printed.
const us = "taskkit"

// sample holds the figures of one measurement by the name of their metric.
type sample map[string]float64

// metric is something that a contest measures.
type metric struct {
	name string
	less bool // less is better
	info bool // no ratio: it explains the others
}

// side is a contender of a contest. Its measure returns a sample, from a fresh database.
type side struct {
	name    string
	measure func(ctx context.Context) (sample, error)
}

// anyPeer stands in a goal for the best of all peers.
const anyPeer = "the best of the others"

// goal is the goal of a contest. Without a peer it bounds our own median.
type goal struct {
	peer   string
	metric string
	value  float64 // how many times better than the peer, or the bound itself
}

// sideGoal is a goal of another side than ours, against a peer.
type sideGoal struct {
	side string
	goal
}

// contest measures sides against each other.
type contest struct {
	title    string
	metrics  []metric
	sides    []side
	goals    []goal
	goalsOf  []sideGoal
	rounds   int  // replaces the option of the command line, if not 0
	together bool // the sides of a round run at once: they hardly load the machine
}

// outcome is a contest with its samples by side, one a round.
type outcome struct {
	contest
	samples map[string][]sample
}

// run measures rounds of the contest and writes progress to w.
func (c contest) run(ctx context.Context, rounds int, w io.Writer) (outcome, error) {
	if c.rounds != 0 {
		rounds = c.rounds
	}
	out := outcome{contest: c, samples: make(map[string][]sample)}
	for round := range rounds {
		got := make([]sample, len(c.sides))
		errs := make([]error, len(c.sides))
		measure := func(i int) {
			began := time.Now()
			s, err := c.sides[i].measure(ctx)
			if err != nil {
				errs[i] = fmt.Errorf("%s: %s: %w", c.title, c.sides[i].name, err)
				return
			}
			got[i] = s
			fmt.Fprintf(w, "  %d/%d %-34s %s (%.0f s)\n", round+1, rounds, c.sides[i].name, c.show(s), time.Since(began).Seconds())
		}
		if c.together {
			var wg sync.WaitGroup
			for i := range c.sides {
				wg.Go(func() { measure(i) })
			}
			wg.Wait()
		} else {
			for i := range c.sides {
				measure((i + round) % len(c.sides))
			}
		}
		if err := errors.Join(errs...); err != nil {
			return out, err
		}
		for i, s := range got {
			out.samples[c.sides[i].name] = append(out.samples[c.sides[i].name], s)
		}
	}
	return out, nil
}

// show writes a sample on one line.
func (c contest) show(s sample) string {
	var text strings.Builder
	for _, m := range c.metrics {
		if v, ok := s[m.name]; ok {
			fmt.Fprintf(&text, "  %s %s", figure(v), m.name)
		}
	}
	return text.String()
}

// has reports whether a side has figures of a metric.
func (o outcome) has(name, metric string) bool {
	for _, s := range o.samples[name] {
		if _, ok := s[metric]; ok {
			return true
		}
	}
	return false
}

// spread returns the median, the smallest and the largest figure of a side.
func (o outcome) spread(name, metric string) (median, least, most float64) {
	var all []float64
	for _, s := range o.samples[name] {
		if v, ok := s[metric]; ok {
			all = append(all, v)
		}
	}
	if len(all) == 0 {
		return 0, 0, 0
	}
	slices.Sort(all)
	median = all[len(all)/2]
	if len(all)%2 == 0 {
		median = (all[len(all)/2-1] + median) / 2
	}
	return median, all[0], all[len(all)-1]
}

// times returns how many times better we are than a peer, by the medians.
func (o outcome) times(peer string, m metric) float64 { return o.timesOf(us, peer, m) }

// timesOf returns how many times better a side is than another, by the medians.
func (o outcome) timesOf(side, peer string, m metric) float64 {
	ours, _, _ := o.spread(side, m.name)
	theirs, _, _ := o.spread(peer, m.name)
	if m.less {
		ours, theirs = theirs, ours
	}
	if theirs == 0 {
		return 0
	}
	return ours / theirs
}

// metric returns the metric of a name.
func (c contest) metric(name string) metric {
	for _, m := range c.metrics {
		if m.name == name {
			return m
		}
	}
	return metric{name: name}
}

// reached describes a goal and whether it is met.
func (o outcome) reached(g goal) (what string, have float64, ok bool) {
	m := o.metric(g.metric)
	if g.peer == "" {
		have, _, _ = o.spread(us, g.metric)
		if m.less {
			return fmt.Sprintf("%s at most %s", g.metric, figure(g.value)), have, have <= g.value
		}
		return fmt.Sprintf("%s at least %s", g.metric, figure(g.value)), have, have >= g.value
	}
	have = o.times(g.peer, m)
	if g.peer == anyPeer {
		have = math.Inf(1)
		for _, s := range o.sides {
			if s.name != us {
				have = min(have, o.times(s.name, m))
			}
		}
	}
	return fmt.Sprintf("%s against %s at least %s", g.metric, g.peer, figure(g.value)), have, have >= g.value
}

// reachedBySide describes a goal of another side and whether it is met.
func (o outcome) reachedBySide(g sideGoal) (what string, have float64, ok bool) {
	have = o.timesOf(g.side, g.peer, o.metric(g.metric))
	return fmt.Sprintf("%s: %s against %s at least %s", g.side, g.metric, g.peer, figure(g.value)), have, have >= g.value
}

// quantile returns the q-th quantile of durations that are sorted, in
// milliseconds.
func quantile(sorted []time.Duration, q float64) float64 {
	if len(sorted) == 0 {
		return 0
	}
	i := min(int(float64(len(sorted))*q), len(sorted)-1)
	return float64(sorted[i].Microseconds()) / 1000
}
