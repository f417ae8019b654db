// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"os"
	"slices"
)

// Long reports whether tests take their long form: `make test-long`, once a week and before a release. The long form
// runs the lines of the short one with larger numbers: more objects, rounds, faults or time. No test asks Long whether
// it runs at all, but for those that test/house lists with the reason.
//
// The programs of longPrograms take minutes to build or install. `make test` leaves their tests out, on each machine
// alike; `make test-long` builds them and fails where one is missing; `go test` runs the tests where they are built.
func Long() bool { return os.Getenv("KUBIZONE_TEST_LONG") != "" }

var longPrograms = []string{
	"ansible-playbook", "argosync", "bindcar", "certmanager", earlier, "external-dns", "fluxapply", "lego5", "octodns-sync",
	"solverconformance", "webhookprovider",
}

// earlier is kubizone as it was at an earlier revision.
const earlier = "an earlier kubizone"

// ofLongAlone reports whether this is `make test`, and the program one of longPrograms.
func ofLongAlone(program string) bool {
	return os.Getenv(RequireAll) != "" && !Long() && slices.Contains(longPrograms, program)
}
