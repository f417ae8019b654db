// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"os"
	"slices"
)

// Long reports whether tests take their long form: larger numbers, by `make test-long`, once a week and before a
// release. Only tests listed in test/house ask Long whether to run at all.
//
// longPrograms need minutes to build: `make test` leaves their tests out, `make test-long` builds them, and `go test`
// uses those already built.
func Long() bool { return os.Getenv("KUBIZONE_TEST_LONG") != "" }

var longPrograms = []string{
	"ansible-playbook", "argosync", "bindcar", "certmanager", earlier, "external-dns", "fluxapply", "lego5", "octodns-sync",
	"opentofu", "solverconformance", "terraform-provider-kubectl", "webhookprovider",
}

const earlier = "an earlier kubizone"

func ofLongAlone(program string) bool {
	return os.Getenv(RequireAll) != "" && !Long() && slices.Contains(longPrograms, program)
}
