// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// number is the version of the next release, with -dev. In a release the linker sets the number of the tag
// (hack/build-release.sh refuses another number than this tree's).
var number = "0.5.0-dev"

// go install of a tag has no linker flags, but the program contains the version of the module.
func init() {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Path == "kubi.zone/kubizone" && info.Main.Version+"-dev" == "v"+number {
		number = strings.TrimSuffix(number, "-dev")
	}
}

// Number returns Kubizone's Semantic Version, without the "v" of tags.
func Number() string { return number }

// UserAgent returns the User-Agent of a component. The part before the slash is also the default field manager of
// the component's requests.
func UserAgent(component string) string {
	return fmt.Sprintf("%s/v%s (%s/%s)", component, number, runtime.GOOS, runtime.GOARCH)
}
