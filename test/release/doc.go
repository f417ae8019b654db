// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package release tests what hack/build-release.sh makes: of stand-ins that are built in seconds, or, with -dist, of
// the programs.
//
// It promises:
//
//	R1. SHA256SUMS has every file that is published, with its sum.
//	R2. An image, of kubizone and of kubizone-gardener, is an OCI layout for each platform of Linux: one static
//	    program for a user that is not root and can write nothing of it. The program of the archive and of the image
//	    is the same, and says the release's version.
//	R3. Manifests and chart name the image of the release by its digest, and no other image.
//	R4. The SBOM of a platform has every module that is in its programs. The archive and the image have its licence.
//	R5. Packaged twice, the same programs give the same octets.
//	R6. The pushed image has the digest that the manifests name.
//	R7. So has the image that the commands of README.md push.
//	R8. go installs the server from its module, and a client of the API module has no server in its module graph.
//	R9. The chart for Gardener is an OCI layout too, and Gardener's manifests name it and the image.
//	R10. The JSON schemas are such as kubeconform takes: the examples are good by them, and unknown fields are not.
//
// It does not know a registry of others: what it pushes, it pushes to one on this machine.
//
// Read release_test.go, then image_test.go.
package release
