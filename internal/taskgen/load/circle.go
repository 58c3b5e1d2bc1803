package load

import "go/types"

// aliasCircle returns a generic alias by which a type within t contains itself, or nil. The Go
// compiler (1.26) stops with a deadlock when it reads such a type from another package, as
// generated code makes it do. Fields that are not stored count too.
func aliasCircle(t types.Type) *types.Alias {
	c := circles{open: map[string]int{}, done: map[visited]bool{}}
	c.visit(t)
	return c.found
}

type circles struct {
	open    map[string]int // how many generic aliases lead to the types around
	done    map[visited]bool
	aliases []*types.Alias // on the way here
	found   *types.Alias
}

// visited is a type that was reached through a number of generic aliases.
type visited struct {
	source  string
	aliases int
}

func (c *circles) visit(t types.Type) {
	switch t := t.(type) {
	case *types.Alias:
		if t.TypeArgs().Len() > 0 {
			c.aliases = append(c.aliases, t)
			defer func() { c.aliases = c.aliases[:len(c.aliases)-1] }()
		}
		c.visit(t.Rhs())
	case *types.Named:
		source := mark(t)
		if n, around := c.open[source]; around && n < len(c.aliases) && c.found == nil {
			c.found = c.aliases[len(c.aliases)-1]
		}
		here := visited{source, len(c.aliases)}
		if c.found != nil || c.done[here] {
			return
		}
		c.done[here] = true
		if _, around := c.open[source]; !around {
			c.open[source] = len(c.aliases)
			defer delete(c.open, source)
		}
		c.visit(t.Underlying())
	case *types.Struct:
		for f := range t.Fields() {
			c.visit(f.Type())
		}
	case *types.Map:
		c.visit(t.Key())
		c.visit(t.Elem())
	case interface{ Elem() types.Type }: // pointers, lists and channels
		c.visit(t.Elem())
	}
}
