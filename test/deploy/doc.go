// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deploy tests installations in a real kube-apiserver: the chart charts/kubizone by helm, the manifests of
// artifacts/deploy by kubectl, and a program without files of an image.
//
// Guarantees:
//
//	M1. Grants and their subjects change only together with testdata/rbac.golden.
//	M2. A single apply works before the server runs, and so does every further apply. None removes caBundle.
//	M3. The server runs with only the manifests' flags and rights.
//	M4. The documented uninstall leaves nothing, and no namespace hangs.
//	M5. The commands of docs/operations.md in a pod name the image's binary and the manifests' directory.
//	M6. The manifests are rendered from the chart.
//	M7. helm installs, upgrades, rolls back and removes the chart, also without a server of its API. Data is kept.
//	M8. By promtool, alerts fire on faults only; the dashboard shows each metric.
//	M9. The commands of README.md work, up to a query at a BIND.
//	M10. The pictures of docs/images name the chart's processes and ports.
//	M11. A rolling restart or upgrade of the form ha causes no error to a client that obeys Retry-After. Any server
//	    may be killed, while the others accept writes.
//
// Read render_test.go and chart_test.go, then install_test.go.
package deploy
