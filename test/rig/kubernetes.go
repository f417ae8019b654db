// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package rig

import (
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
)

// cachedKube is the directory of what an earlier hack/build-kube.sh built, or empty.
var cachedKube = sync.OnceValue(func() string {
	_, file, _, _ := runtime.Caller(0)
	out, err := exec.Command(filepath.Join(filepath.Dir(file), "../../hack/build-kube.sh"), "--cached").Output()
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(out))
})

// KubeProgram is the path of one of Kubernetes' own programs (kubectl, kube-apiserver, kube-controller-manager) in
// the version the tests are written for: from the directory $KUBE_BIN, or from what hack/build-kube.sh left in its
// cache; else a *Missing.
func KubeProgram(program string) (string, error) {
	dir := os.Getenv("KUBE_BIN")
	if dir == "" {
		dir = cachedKube()
	}
	path := filepath.Join(dir, program)
	if info, err := os.Stat(path); dir == "" || err != nil || info.Mode()&0o111 == 0 {
		return "", &Missing{Program: program, Install: "hack/build-kube.sh"}
	}
	return path, nil
}
