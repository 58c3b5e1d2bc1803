// Package filters makes filters of tasks in all combinations.
package filters

import (
	"time"

	"github.com/google/uuid"

	"taskkit.dev/internal/lifecycle"
	"taskkit.dev/internal/store"
)

// Value is a field of a filter with a value that many tasks have, few, or none.
type Value struct {
	Field, Value string
	Set          func(*store.Filter)
}

// Values are what [Pairs] takes in pairs: of each field of a filter a value that many tasks have, that few have, and that none has.
func Values(many, few, none Tasks) (values []Value) {
	for name, t := range map[string]Tasks{"many": many, "few": few, "none": none} {
		for field, set := range map[string]func(*store.Filter){
			"IDs":       func(f *store.Filter) { f.IDs = t.IDs },
			"Kinds":     func(f *store.Filter) { f.Kinds = []string{t.Kind, "other"} },
			"Statuses":  func(f *store.Filter) { f.Statuses = t.Statuses },
			"Owner":     func(f *store.Filter) { f.Owner = t.Owner },
			"Queue":     func(f *store.Filter) { f.Queue = t.Queue },
			"Reference": func(f *store.Filter) { f.Reference = t.Key },
			"UniqueKey": func(f *store.Filter) { f.UniqueKey = t.Key },
			"Code":      func(f *store.Filter) { f.Code = t.Code },
			"Parent":    func(f *store.Filter) { f.Parent = t.Parent },
			"Follows":   func(f *store.Filter) { f.Follows = t.Parent },
			"EndedFor":  func(f *store.Filter) { f.EndedFor = t.EndedFor },
			"Before":    func(f *store.Filter) { f.Before = t.Before },
		} {
			values = append(values, Value{field, name, set})
		}
	}
	return append(values,
		Value{"Statuses", "dead", func(f *store.Filter) { f.Statuses = []lifecycle.Status{lifecycle.Error, lifecycle.Failure} }},
		Value{"Roots", "only", func(f *store.Filter) { f.Roots = true }},
		Value{"Roots", "and children", func(f *store.Filter) { f.Roots = false }},
		Value{"Running", "all", func(f *store.Filter) { f.Running = true }},
		Value{"Paused", "some", func(f *store.Filter) { f.Paused = true }},
		Value{"Approval", "few", func(f *store.Filter) { f.Approval = true }},
		Value{"Previews", "none", func(f *store.Filter) { f.Previews = true }},
	)
}

// Tasks are what some tasks have in the fields of a filter.
type Tasks struct {
	IDs                    []uuid.UUID
	Kind, Queue, Key, Code string
	Statuses               []lifecycle.Status
	Owner, Parent, Before  uuid.UUID
	EndedFor               time.Duration
}

// Pairs calls check with a filter for each value and for each pair of values of different fields. As in taskkit.Filter, a filter that
// names no tasks has none with a parent, unless one of the values says otherwise.
func Pairs(values []Value, check func(name string, f store.Filter)) {
	for i, a := range values {
		var f store.Filter
		a.Set(&f)
		if a.Field != "Roots" {
			f.Roots = !f.Names()
		}
		check(a.Field+" "+a.Value, f)
		for _, b := range values[i+1:] {
			if a.Field == b.Field {
				continue
			}
			f := store.Filter{Limit: 10}
			a.Set(&f)
			b.Set(&f)
			if a.Field != "Roots" && b.Field != "Roots" {
				f.Roots = !f.Names()
			}
			check(a.Field+" "+a.Value+", "+b.Field+" "+b.Value, f)
		}
	}
}
