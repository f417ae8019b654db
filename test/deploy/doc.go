// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Package deploy tests what is installed: the chart charts/kubizone, as helm renders and installs it, the manifests of
// artifacts/deploy, as kubectl renders and applies them, both in a real kube-apiserver, and that the program needs no
// file of an image.
//
// It promises:
//
//	M1. Grants, and their subjects, change only together with testdata/rbac.golden.
//	M2. One apply works, before the server runs, and so does every further one: neither takes caBundle away.
//	M3. The server runs with the flags of the manifests and the rights of the manifests, and nothing beside them.
//	M4. The documented uninstall leaves nothing, and no namespace hangs after it.
//	M5. The commands that docs/operations.md runs in a pod name the image's binary and the manifests' directory.
//	M6. The manifests are rendered from the chart: each form with each component is equal to the chart with its
//	    values.
//	M7. helm installs, upgrades, rolls back and removes the chart, also while its API has no server. The data stay.
//	M8. Alerts ring when something is wrong and are quiet otherwise, by promtool; the dashboard shows each metric.
//	M9. The commands by which README.md installs it, delegates a name and asks a BIND for it do so.
//	M10. The pictures of docs/images name the processes and ports of the chart.
//	M11. A rolling restart or upgrade of the three servers of the form ha costs a client no error that obeys
//	     Retry-After. Any one of them may go by force, while the others take writes.
//
// It does not know a kubelet: the server of the tests is a process beside kube-apiserver, which the Service points to.
//
// Read render_test.go and chart_test.go, then install_test.go.
package deploy
