package model

import (
	"go/token"
	"slices"
	"strings"
)

// PackageProblem says why a package cannot have a name that has the right characters, or
// returns "". Its file is called after it.
func PackageProblem(name string) string {
	last := name[strings.LastIndexByte(name, '_')+1:]
	switch {
	case token.IsKeyword(name):
		return "it is a keyword"
	case name == "main" || name == "init":
		return "no package of that name can be imported"
	case name == "internal" || name == "vendor":
		return "packages in a directory of that name cannot be imported from elsewhere"
	case last != name && last == "test":
		return "Go takes a file of that name for a test"
	case last != name && slices.Contains(platforms, last):
		return "Go takes a file of that name for one of another platform"
	default:
		return ""
	}
}

// platforms are the operating systems and architectures that end the name of a file,
// the names that Go defines and the names that it keeps free.
var platforms = strings.Fields("aix android darwin dragonfly freebsd hurd illumos ios js linux nacl netbsd openbsd plan9 solaris wasip1 windows zos " +
	"386 amd64 amd64p32 arm armbe arm64 arm64be loong64 mips mipsle mips64 mips64le mips64p32 mips64p32le ppc ppc64 ppc64le riscv riscv64 " +
	"s390 s390x sparc sparc64 wasm")
