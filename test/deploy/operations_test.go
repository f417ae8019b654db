// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package deploy

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/yaml"

	"kubi.zone/kubizone/cmd/kubizone/app"
	"kubi.zone/kubizone/test/must"
)

// Commands for a pod, in docs/operations.md and in --help, can be pasted: they name the binary with its path, because
// the image has no PATH, and the data directory of the manifests (M5).
func TestOperations_nameThePodsOwnPaths(t *testing.T) {
	image := must.Get(os.ReadFile("../../hack/build-release.sh"))(t)
	built := regexp.MustCompile(`(?m)^build_image (kubizone) `).FindSubmatch(image)
	if built == nil || !bytes.Contains(image, []byte(`--entrypoint "/$1"`)) {
		t.Fatal("the image has no entrypoint")
	}
	entrypoint := "/" + string(built[1])
	var directories []string
	for _, form := range []string{"embedded", "ha"} {
		text := must.Get(os.ReadFile(filepath.Join(manifests, form, "workload.yaml")))(t)
		for _, found := range regexp.MustCompile(`--etcd-data-dir=(\S+)`).FindAllSubmatch(text, -1) {
			directories = append(directories, string(found[1]))
		}
	}
	if len(directories) != 2 {
		t.Fatalf("data directories %q of two forms", directories)
	}

	page := must.Get(os.ReadFile("../../docs/operations.md"))(t)
	texts := map[string]string{"docs/operations.md": string(page)}
	for _, command := range app.New().Commands() {
		texts[command.CommandPath()] = command.Example
	}
	executed, placed := 0, 0
	for where, text := range texts {
		for _, found := range regexp.MustCompile(`exec \S+ -- (?:\\\s+)?(\S+)`).FindAllStringSubmatch(text, -1) {
			executed++
			if found[1] != entrypoint {
				t.Errorf("%s executes %s, the image has %s", where, found[1], entrypoint)
			}
		}
		for _, found := range regexp.MustCompile(`data-dir (/\S+)`).FindAllStringSubmatch(text, -1) {
			placed++
			if directory := strings.TrimSuffix(found[1], "`"); !slices.Contains(directories, directory) {
				t.Errorf("%s has the data in %s, the manifests in %q", where, directory, directories)
			}
		}
	}
	if executed < 3 || placed < 6 {
		t.Errorf("%d commands executed in pods, %d directories: the page or its form has changed", executed, placed)
	}
}

// docs/operations.md shows a pod that restores the data of mode embedded. It mounts the StatefulSet's volume at the
// server's path, runs as the same user, and satisfies the Pod Security standard restricted (M5).
func TestOperations_restoreTheVolumeOfEmbedded(t *testing.T) {
	page := string(must.Get(os.ReadFile("../../docs/operations.md"))(t))
	_, section, _ := strings.Cut(page, "\n### Restore the mode embedded in a cluster\n")
	_, block, _ := strings.Cut(section, "```yaml\n")
	block, commands, _ := strings.Cut(block, "```\n")
	var pod corev1.Pod
	must.Succeed(t, yaml.UnmarshalStrict([]byte(block), &pod))
	var set appsv1.StatefulSet
	for _, object := range renderEmbedded(t) {
		if object.GetKind() == "StatefulSet" {
			must.Succeed(t, runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &set))
		}
	}
	server, of := set.Spec.Template.Spec, pod.Spec
	claim := set.Spec.VolumeClaimTemplates[0].Name + "-" + set.Name + "-0"
	if of.Volumes[0].PersistentVolumeClaim.ClaimName != claim || pod.Namespace != set.Namespace ||
		!strings.Contains(commands, "scale statefulset "+set.Name+" --replicas=0") {
		t.Errorf("the pod mounts %+v, the StatefulSet %s/%s has %s", of.Volumes[0], set.Namespace, set.Name, claim)
	}
	is, want := of.SecurityContext, server.SecurityContext
	if *is.RunAsUser != *want.RunAsUser || *is.RunAsGroup != *want.RunAsGroup || *is.FSGroup != *want.FSGroup || !*is.RunAsNonRoot ||
		is.SeccompProfile.Type != corev1.SeccompProfileTypeRuntimeDefault {
		t.Errorf("the pod runs as %+v, the server as %+v", is, want)
	}
	for _, container := range append(of.InitContainers, of.Containers...) {
		at, server := container.VolumeMounts[0], server.Containers[0].VolumeMounts[0]
		if at.MountPath != server.MountPath || at.Name != "data" {
			t.Errorf("%s mounts %+v, the server %+v", container.Name, at, server)
		}
		if x := container.SecurityContext; *x.AllowPrivilegeEscalation || !slices.Equal(x.Capabilities.Drop, []corev1.Capability{"ALL"}) {
			t.Errorf("%s has %+v", container.Name, x)
		}
	}
}
