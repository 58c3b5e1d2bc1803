package taskkit

import (
	"fmt"
	"math"

	"taskkit.dev/internal/store"
)

// Sample says which targets of a set [WithSample] takes. Give it one of Every, Size and Probability.
//
// A random sample is chosen by the Seed and the JSON of each target alone: over the same targets it is
// the same each time, and over other targets it keeps the ones that both sets have, as far as its
// size allows. Each target has the same chance.
type Sample struct {
	// Every is the interval of a regular sample: the first target, and each so many after it.
	Every int
	// Size is how many targets the sample has, 100,000 at most; all of a set that has fewer.
	// Without a Seed the sample is regular: the first target, and others at intervals that differ by
	// a quarter at most.
	Size int
	// Probability is the chance of each target, above 0 and up to 1. It needs a Seed.
	Probability float64
	// Seed makes a sample random. Another seed chooses other targets.
	Seed uint64
}

// WithSample lets a preview or a canary see a sample of the targets, in their order. Duplicates that
// [WithTargets] leaves out do not count.
//
// With [WithPreview] the sample is the whole set of the task. [Client.Apply] applies it to
// the sample; for all targets, submit the task anew. With [WithCanary] and without WithPreview the task is
// over all targets: first come as many of the sample as the canary has, then all others in
// their order. A Size above the items of the canary counts as these. The others among the first
// targets are kept in memory, so these are 100,000 at most: the items of the canary times Every, or
// divided by Probability, or with a Size all targets. More in the set are a *[TargetsError].
//
// The targets can be a list in the spec, which is then stored as a frozen set, or come from
// [WithTargets], which is read once; eight of them for each of a Size are in memory. A preview that finds its targets when it starts,
// also one of a kind with buckets, takes a Probability of them. It is an
// *[OptionError] for an invalid Sample, without WithPreview and WithCanary, above the bound, for a spec
// without targets, such as the spec of a live walk, for a kind without a list of targets, and in
// SubmitMany of several specs. A random sample that has no target is a *TargetsError.
func WithSample(sample Sample) SubmitOption {
	return submitOption(func(s *submission) {
		if problem := sample.problem(); problem != "" {
			s.fail("WithSample", problem)
		}
		s.sample = sample
	})
}

// problem says what is wrong with a sample; "" if nothing is.
func (s Sample) problem() string {
	given := 0
	for _, is := range []bool{s.Every != 0, s.Size != 0, s.Probability != 0} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return fmt.Sprintf("%+v has %d of Every, Size and Probability: give it one", s, given)
	case s.Every < 0:
		return fmt.Sprintf("%d is no interval: give Every 1 at least", s.Every)
	case s.Size < 0 || s.Size > store.MaxSampled:
		return fmt.Sprintf("%d is no size: give Size from 1 to %d, or use Every or Probability", s.Size, store.MaxSampled)
	case s.Probability < 0 || s.Probability > 1 || math.IsNaN(s.Probability):
		return fmt.Sprintf("%v is no probability: give Probability above 0 and up to 1", s.Probability)
	case s.Probability != 0 && s.Seed == 0:
		return "a random sample has no Seed: give it a number that is not 0, the same one for the same targets"
	case s.Every != 0 && s.Seed != 0:
		return "a sample at an interval is not random: leave out Seed, or use Size or Probability"
	}
	return ""
}

// sampled reports whether there was WithSample.
func (s *submission) sampled() bool { return s.sample != Sample{} }

// sampling is what Insert makes of the targets.
func (s *submission) sampling() store.Sampling {
	out := store.Sampling{Every: s.sample.Every, Size: s.sample.Size, Probability: s.sample.Probability, Seed: s.sample.Seed}
	if s.sampled() && !s.Options.Preview {
		out.First = int(s.Options.Canary)
		out.Size = min(out.Size, out.First)
	}
	return out
}

// checkSampling returns what is wrong with the option WithSample together with others.
func (s *submission) checkSampling() error {
	canary := s.Options.Canary
	among := float64(canary) // how many targets must be read to find the canary
	switch {
	case s.sample.Every > 0:
		among *= float64(s.sample.Every)
	case s.sample.Probability > 0:
		among /= s.sample.Probability
	}
	switch {
	case !s.sampled() || s.Options.Preview:
	case canary == 0:
		return &OptionError{"WithSample", "a sample is for a preview or a canary: add WithPreview() or WithCanary(items)"}
	case among > store.MaxSampled:
		return &OptionError{"WithSample", fmt.Sprintf("a canary of %d items of this sample is among more than %d targets: choose a smaller canary or interval, or a higher probability", canary, store.MaxSampled)}
	}
	return nil
}

// checkSample returns what is wrong with the option WithSample for a submission of specs.
func (k *Kind[Spec, State, Result]) checkSample(s *submission, specs []Spec) error {
	t := k.def.Targets
	switch {
	case !s.sampled():
		return nil
	case t.Get == nil && (k.def.Segments || k.def.Stages):
		return &OptionError{"WithSample", fmt.Sprintf("kind %s has buckets or stages, which find their items themselves: put the sample into its spec, as a condition that the executor adds to its statements", k.def.Name)}
	case t.Get == nil:
		return &OptionError{"WithSample", fmt.Sprintf("kind %s has no list of targets: name the list of its spec in the directive, //taskkit:executor %s targets=FIELD, and run go generate", k.def.Name, k.def.Name)}
	case len(specs) > 1:
		return &OptionError{"WithSample", "a set of targets is that of one task: submit the specs one by one"}
	case k.finds(s, &specs[0]):
		if s.sample.Probability == 0 || !s.Options.Preview {
			return &OptionError{"WithSample", "the task finds its targets when it starts: give WithPreview and a Probability, since a Size, an interval and a canary need the whole set first"}
		}
		s.Options.Sample = &store.RandomSample{Probability: s.sample.Probability, Seed: s.sample.Seed}
	case s.over == nil && t.Len(&specs[0]) == 0:
		return &OptionError{"WithSample", fmt.Sprintf("the spec has no targets in its list %s: put them there, or use WithTargets", t.Field)}
	}
	return s.checkSampling()
}

// sampleList makes the list in the spec of a task its frozen set.
func (s *submission) sampleList(t *store.NewTask) error {
	around, list, err := cutList(t.Spec, t.TargetsField)
	if err != nil {
		return fmt.Errorf("read the list %s in the spec: %w", t.TargetsField, err)
	}
	t.Spec = around.with([]byte("[]"))
	t.Targets = &store.NewTargets{Field: t.TargetsField, Distinct: true, Keys: elements(list), Sampling: s.sampling()}
	return nil
}
