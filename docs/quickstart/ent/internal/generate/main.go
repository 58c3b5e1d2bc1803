// Command generate runs ent's code generation. The command ent does the same, and would bring a command line into go.mod.
package main

import (
	"log"

	"entgo.io/ent/entc"
	"entgo.io/ent/entc/gen"
)

func main() {
	if err := entc.Generate("./schema", &gen.Config{Features: []gen.Feature{gen.FeatureExecQuery}}); err != nil {
		log.Fatal("generate ent: ", err)
	}
}
