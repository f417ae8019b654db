// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package version

import (
	"fmt"
	"runtime"
	"runtime/debug"
	"strings"
)

// number is the next release's, with -dev. In a release the linker sets the tag's (hack/build-release.sh).
var number = "0.5.0-dev"

// go install of a tag sets no linker flags, but build info has the module's version.
func init() {
	if info, ok := debug.ReadBuildInfo(); ok && info.Main.Path == "kubi.zone/kubizone" && info.Main.Version+"-dev" == "v"+number {
		number = strings.TrimSuffix(number, "-dev")
	}
}

// Component names the API server in answers of upstream's APIs.
const Component = "kubizone"

// Number returns Kubizone's Semantic Version, without "v".
func Number() string { return number }

// UserAgent returns a component's User-Agent. The part before the slash is the default field manager.
func UserAgent(component string) string {
	return fmt.Sprintf("%s/v%s (%s/%s)", component, number, runtime.GOOS, runtime.GOARCH)
}
