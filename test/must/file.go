// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package must

import (
	"os"
	"path/filepath"
	"testing"
)

// WriteFile makes the directories of path, and returns path.
func WriteFile(t testing.TB, path, text string) string {
	t.Helper()
	Succeed(t, os.MkdirAll(filepath.Dir(path), 0o700))
	Succeed(t, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// WriteKubeconfig returns the path of a kubeconfig for a server, without a user and with the namespace team.
func WriteKubeconfig(t testing.TB, server string) string {
	t.Helper()
	return WriteFile(t, filepath.Join(t.TempDir(), "kubeconfig"), "apiVersion: v1\nkind: Config\ncurrent-context: c\n"+
		"clusters: [{name: c, cluster: {server: '"+server+"'}}]\ncontexts: [{name: c, context: {cluster: c, namespace: team}}]\n")
}
