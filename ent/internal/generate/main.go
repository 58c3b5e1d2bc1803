// Command generate runs ent's code generation for taskkit's own tables.
//
// It is a program and not the ent command for one reason: the generated client
// must not import ent's schema migration, which links Atlas into every user's
// binary. taskkit's migrations are versioned SQL.
package main

import (
	"log"
	"runtime"

	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"
)

func main() {
	runtime.GOMAXPROCS(1) // ent formats files in parallel, and goimports then misses imports of files that are being written
	storage, err := gen.NewStorage("sql")
	if err != nil {
		log.Fatal(err)
	}
	storage.SchemaMode &^= gen.Migrate
	err = entc.Generate("./schema", &gen.Config{
		Storage:  storage,
		Features: []gen.Feature{gen.FeatureSchemaConfig, gen.FeatureExecQuery},
	})
	if err != nil {
		log.Fatal("generate ent: ", err)
	}
}
