// Command generate runs ent's code generation. The command ent does the same, and would bring a command line into go.mod.
package main

import (
	"log"
	"runtime"

	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"
)

func main() {
	runtime.GOMAXPROCS(1) // ent formats files in parallel, and goimports then misses imports of files that are being written
	if err := entc.Generate("./schema", &gen.Config{Features: []gen.Feature{gen.FeatureExecQuery}}); err != nil {
		log.Fatal("generate ent: ", err)
	}
}
