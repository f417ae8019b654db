// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// number is that of the release which this tree becomes, with -dev. The linker sets the number of the tag in a release
// (hack/build-release.sh refuses one that differs from this tree's).
var number = "0.5.0-dev"

// go install of a tag knows no linker flags, and says in the program which version of the module it is.
func init() {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Path == "kubi.zone/kubizone" && info.Main.Version+"-dev" == "v"+number {
		number = strings.TrimSuffix(number, "-dev")
	}
}

// Number is a Semantic Version, without the "v" of tags. It is Kubizone's, not Kubernetes'.
func Number() string { return number }

// UserAgent is what a component calls itself to servers that it asks. The part before the slash also names
// the component among the managers of a field, where a request names none.
func UserAgent(component string) string {
	return fmt.Sprintf("%s/v%s (%s/%s)", component, number, runtime.GOOS, runtime.GOARCH)
}
