package taskhttp_test

import (
	"context"
	"errors"
	"strings"

	"taskkit.dev/taskkit"
	"taskkit.dev/taskkit/taskkind"
)

// piecesSpec is the spec of a task over items.
type piecesSpec struct {
	Pieces []string `json:"pieces"`
}

// piecesKind has tasks with items of all outcomes.
var piecesKind = taskkit.NewKind(taskkind.Definition[piecesSpec, workState, struct{}]{
	Name: "pieces", BatchSize: 2, MaxBatchSize: 2,
	Targets:    taskkind.TargetsIn("pieces", func(s *piecesSpec) *[]string { return &s.Pieces }),
	SpecSchema: []byte(`{"$schema":"https://json-schema.org/draft/2020-12/schema","type":"object","properties":{"pieces":{"type":["array","null"],"items":{"type":"string"}}},"required":["pieces"],"additionalProperties":false}`),
})

// pieces is the executor of piecesKind. An item that begins with bad fails, and one that
// begins with odd is skipped.
type pieces struct{}

func (pieces) Execute(_ context.Context, b *taskkit.Batch[piecesSpec, workState]) (taskkit.Next, error) {
	b.State.Note = stateMarker
	items, next := taskkit.Take(b, b.Spec.Pieces)
	for _, i := range items {
		switch {
		case strings.HasPrefix(i, "bad"):
			b.Fail(i, taskkit.Permanent("broken", errors.New(detailMarker)))
		case strings.HasPrefix(i, "odd"):
			b.Skip(i, "unwanted")
		}
	}
	return next, nil
}
