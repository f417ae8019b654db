// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package release tests the output of hack/build-release.sh, with small replacement programs, or with -dist the real
// programs.
//
// Guarantees:
//
//	R1. SHA256SUMS has every published file with its sum.
//	R2. An image, of kubizone and of kubizone-gardener, is an OCI layout for each Linux platform: one static program,
//	    also in the archive, that reports the release's version, for a non-root user who can write nothing in the
//	    image.
//	R3. Manifests and chart name only the release's image, by digest.
//	R4. The SBOM of a platform has every module of its programs; archive and image have the modules' licences.
//	R5. Packaged twice, the same programs give the same octets.
//	R6. The pushed image has the digest in the manifests.
//	R7. So has the image pushed by the commands of README.md.
//	R8. go installs the server from its module; a client of the API module has no server in its module graph.
//	R9. The chart for Gardener is an OCI layout too; Gardener's manifests name it and the image.
//	R10. kubeconform accepts the JSON schemas: the examples are valid, unknown fields are not.
//
// Read release_test.go, then image_test.go.
package release
