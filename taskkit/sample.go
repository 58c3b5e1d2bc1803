package taskkit

import (
	"fmt"

	"taskkit.dev/internal/store"
)

// WithSample lets a preview or a canary see a sample of the targets: the first of them, and each
// n-th after it, so that all parts of a set that is sorted are seen. Duplicates that [WithTargets]
// leaves out do not count.
//
// With [WithPreview] the sample is the whole set of the task. [Client.Apply] applies it to
// the sample; for all targets, submit the task anew. With [WithCanary] and without WithPreview the task is
// over all targets: first come as many of the sample as the canary has, then all others in
// their order. The number of items of the canary times n is 100,000 at most, since
// the others among so many targets are kept in memory meanwhile.
//
// The targets can be a list in the spec, which is then stored as a frozen set, or those of
// [WithTargets]. It is an *[OptionError] below 1, without WithPreview and WithCanary, above the bound, for a spec
// without targets, as that of a live walk, for a kind without a list of targets, and in
// SubmitMany of several specs.
func WithSample(n int) SubmitOption {
	return submitOption(func(s *submission) {
		if n < 1 {
			s.fail("WithSample", fmt.Sprintf("%d is no interval: give it 1 at least", n))
		}
		s.sample = n
	})
}

// sampling is what Insert makes of the targets.
func (s *submission) sampling() store.Sampling {
	if s.sample == 0 || s.Options.Preview {
		return store.Sampling{Every: s.sample}
	}
	return store.Sampling{Every: s.sample, First: int(s.Options.Canary)}
}

// checkSampling returns what is wrong with the option Sample together with others.
func (s *submission) checkSampling() error {
	switch {
	case s.sample == 0:
	case !s.Options.Preview && s.Options.Canary == 0:
		return &OptionError{"WithSample", "a sample is for a preview or a canary: add WithPreview() or WithCanary(items)"}
	case !s.Options.Preview && s.Options.Canary > int64(store.MaxSampled/s.sample):
		return &OptionError{"WithSample", fmt.Sprintf("a canary of %d items, each %d-th, is of more than %d targets: choose a smaller canary or interval", s.Options.Canary, s.sample, store.MaxSampled)}
	}
	return nil
}

// checkSample returns what is wrong with the option Sample for a submission of specs.
func (k *Kind[Spec, State, Result]) checkSample(s *submission, specs []Spec) error {
	t := k.def.Targets
	switch err := s.checkSampling(); {
	case s.sample == 0:
		return nil
	case err != nil:
		return err
	case t.Get == nil:
		return &OptionError{"WithSample", fmt.Sprintf("kind %s has no list of targets: name the list of its spec in the directive, //taskkit:executor %s targets=FIELD, and run go generate", k.def.Name, k.def.Name)}
	case len(specs) > 1:
		return &OptionError{"WithSample", "a set of targets is that of one task: submit the specs one by one"}
	case s.over == nil && t.Len(&specs[0]) == 0:
		return &OptionError{"WithSample", fmt.Sprintf("the spec has no targets in its list %s: put them there, or use WithTargets; targets that the executor finds cannot be sampled", t.Field)}
	}
	return nil
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
