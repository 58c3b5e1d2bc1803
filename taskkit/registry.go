package taskkit

import (
	"context"
	"errors"
	"reflect"

	"taskkit.dev/internal/engine"
)

// Registry holds the executors of a worker. The zero value is empty and ready.
// Fill it with the generated gen.Executors or with [Register]; mistakes are
// kept and returned by [NewWorker], all at once.
type Registry struct {
	kinds  map[string]*engine.Kind
	submit map[string]submitJSON
	names  []string
	errs   []error
}

// submitJSON submits to one kind.
type submitJSON func(ctx context.Context, tx Execer, spec []byte, opts ...SubmitOption) (ID, error)

// Register binds an executor to its kind. A nil executor and a kind or alias
// that is registered twice are reported by [NewWorker], as *MissingExecutorError
// and *DuplicateKindError.
func Register[Spec, State any](r *Registry, k *Kind[Spec, State], x Executor[Spec, State]) {
	if v := reflect.ValueOf(x); !v.IsValid() || v.Kind() == reflect.Pointer && v.IsNil() {
		r.errs = append(r.errs, &MissingExecutorError{Kind: k.Name()})
		return
	}
	if r.kinds == nil {
		r.kinds = make(map[string]*engine.Kind)
		r.submit = make(map[string]submitJSON)
	}
	bound := bind(k, x)
	for _, name := range append([]string{k.def.Name}, k.def.Aliases...) {
		if _, ok := r.kinds[name]; ok {
			r.errs = append(r.errs, &DuplicateKindError{Kind: name})
			continue
		}
		r.kinds[name] = bound
	}
	r.names = append(r.names, k.def.Name)
	r.submit[k.def.Name] = func(ctx context.Context, tx Execer, raw []byte, opts ...SubmitOption) (ID, error) {
		var spec Spec
		if err := k.def.Spec.decode(raw, &spec); err != nil {
			return ID{}, &SpecError{Kind: k.def.Name, Err: err}
		}
		return Submit(ctx, tx, k, spec, opts...)
	}
}

// Engine returns the registered kinds, by name and alias, without their types,
// and the mistakes of registration. It is for the packages of this module; its
// type is internal.
func (r *Registry) Engine() (map[string]*engine.Kind, error) {
	return r.kinds, errors.Join(r.errs...)
}

// Kinds returns the names of the registered kinds, in the order of their
// registration.
func (r *Registry) Kinds() []string { return append([]string(nil), r.names...) }
