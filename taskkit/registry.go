package taskkit

import (
	"context"
	"errors"
	"reflect"
	"slices"

	"taskkit.dev/internal/engine/session"
)

// Registry holds the executors of a worker. The zero value is empty and ready to
// use. Fill it with the generated gen.Executors or with [Register]. Mistakes are
// collected and returned by [NewWorker], all at once.
type Registry struct {
	kinds  map[string]*session.Kind
	submit map[string]submitJSON
	infos  map[string]KindInfo
	names  []string
	errs   []error
}

// submitJSON submits a task of one kind.
type submitJSON func(ctx context.Context, tx Execer, spec []byte, opts ...SubmitOption) (ID, error)

// Register binds an executor to its kind. A missing executor is reported by
// [Registry.Err] and [NewWorker] as a *[UsageError], and so are a kind or alias that is
// registered twice, and an executor whose methods are not the ones that the definition of
// the kind declares.
//
// An executor may wrap another and return it from a method Unwrap() any. The
// runtime then finds the optional methods of the one within, such as those of [Aborter] and
// [Reporter].
func Register[Spec, State, Result any](r *Registry, k *Kind[Spec, State, Result], x Executor[Spec, State]) {
	if v := reflect.ValueOf(x); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		r.errs = append(r.errs, &UsageError{What: named("kind", k.Name()), Why: "no executor: set its field in gen.Executors, or pass one to Register"})
		return
	}
	if r.kinds == nil {
		r.kinds = make(map[string]*session.Kind)
		r.submit = make(map[string]submitJSON)
		r.infos = make(map[string]KindInfo)
	}
	r.errs = append(r.errs, k.checkMethods(x)...)
	bound := bind(k, x)
	if receiver, ok := find[session.KindReceiver](x); ok {
		receiver.ReceiveKind(bound)
	}
	for _, name := range append([]string{k.def.Name}, k.def.Aliases...) {
		if _, ok := r.kinds[name]; ok {
			r.errs = append(r.errs, &UsageError{What: named("kind", name), Why: "registered twice: give one of the two executors another name"})
			continue
		}
		r.kinds[name] = bound
	}
	r.names = append(r.names, k.def.Name)
	r.infos[k.def.Name] = k.info()
	r.submit[k.def.Name] = func(ctx context.Context, tx Execer, raw []byte, opts ...SubmitOption) (ID, error) {
		var spec Spec
		if err := k.def.Spec.Decode(raw, &spec); err != nil {
			return ID{}, &SpecError{Kind: k.def.Name, Err: err}
		}
		return Submit(ctx, tx, k, spec, opts...)
	}
}

// Kinds returns the names of the registered kinds, in the order of their
// registration.
func (r *Registry) Kinds() []string { return slices.Clone(r.names) }

// KindInfo describes a registered kind to programs that do not have its types, such as a form or a command line.
type KindInfo struct {
	Name    string
	Aliases []string
	// Doc is the doc comment of the executor, or "".
	Doc      string
	Revision int
	Queue    string // of tasks that are submitted without WithQueue
	// SpecSchema and ResultSchema are JSON Schemas (2020-12), or nil. The caller must not modify them.
	SpecSchema, ResultSchema []byte
	// Targets is the path of the list of targets in the spec, such as targets.people, or "".
	Targets string
	// Result reports whether tasks have a result.
	Result bool
	// Preview reports whether tasks can be previews, see [WithPreview].
	Preview bool
	// Retired kinds accept no new tasks.
	Retired bool
	// Segments, Stages and Children report whether tasks have buckets, stages, and children of their own.
	Segments, Stages, Children bool
}

// info returns the description of the kind.
func (k *Kind[Spec, State, Result]) info() KindInfo {
	d := &k.def
	return KindInfo{
		Name: d.Name, Aliases: slices.Clone(d.Aliases), Doc: d.Doc, Revision: d.Revision, Queue: d.Queue,
		SpecSchema: d.SpecSchema, ResultSchema: d.ResultSchema, Targets: d.Targets.Field, Result: k.hasResult(),
		Preview: d.Preview, Retired: d.Retired, Segments: d.Segments, Stages: d.Stages, Children: d.Children,
	}
}

// Info describes a registered kind, by its name or an alias. It reports false for a kind that is not registered.
func (r *Registry) Info(kind string) (KindInfo, bool) {
	if bound, ok := r.kinds[kind]; ok {
		kind = bound.Name
	}
	info, ok := r.infos[kind]
	info.Aliases = slices.Clone(info.Aliases)
	return info, ok
}

// check returns the mistakes that keep a worker from using the registry, joined.
func (r *Registry) check() error {
	if len(r.kinds) == 0 && len(r.errs) == 0 {
		return &OptionError{"Registry", "empty: register at least one executor"}
	}
	return r.Err()
}

// Err returns the mistakes made in registration, joined, or nil.
func (r *Registry) Err() error { return errors.Join(r.errs...) }
