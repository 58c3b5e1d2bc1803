package load

import (
	"context"
	"fmt"
	"go/types"
	"path/filepath"
	"regexp"
	"strings"

	"golang.org/x/tools/go/packages"
)

// broken finds why imports do not compile. The type checker reports an error at each import of such a package, and
// of each package that imports it: they become the one error that the compiler found.
type broken struct {
	ctx   context.Context //nolint:containedctx // of one call of check
	dir   string
	known map[string]packages.Error // the errors of the compiler, by the text of the error of the import
}

// compilerError finds the first error that the compiler wrote about a package.
var compilerError = regexp.MustCompile(`(?m)^([^#\s][^:\n]*\.go):(\d+(?::\d+)?): (.*)$`)

// find returns the error of an import that does not compile.
func (b *broken) find(path string) error {
	err := fmt.Errorf("it does not compile: go build %s says why", path)
	pkgs, loaded := packages.Load(&packages.Config{
		Mode: exportMode | packages.NeedImports | packages.NeedDeps, Context: b.ctx, Dir: b.dir,
	}, path)
	if loaded != nil {
		return err
	}
	packages.Visit(pkgs, nil, func(p *packages.Package) { // imports come first
		for _, e := range p.Errors {
			m := compilerError.FindStringSubmatch(e.Msg)
			if m == nil || b.known[err.Error()].Msg != "" {
				continue
			}
			name := m[1]
			if !filepath.IsAbs(name) {
				name = filepath.Join(b.dir, name)
			}
			b.known[err.Error()] = packages.Error{Pos: name + ":" + m[2], Msg: m[3], Kind: packages.TypeError}
		}
	})
	return err
}

// cause returns the error of the compiler because of which a package could not be imported, or nil.
func (b *broken) cause(err types.Error) *packages.Error {
	for text, e := range b.known {
		if strings.HasSuffix(err.Msg, "("+text+")") {
			return &e
		}
	}
	return nil
}
