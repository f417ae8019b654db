// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/zone/etcd/embed"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

const (
	kubizone = "Kubizone"
	plainCRD = "plain CRD"
	raised   = "external-dns raised"
	defaults = "external-dns"
)

type system struct {
	name     string
	resource schema.GroupVersionResource
	kind     string
	spec     func(host, data string) map[string]any
	// answered returns an error unless the answer promises that BIND gets the data. Nil if no answer promises.
	answered func(object *unstructured.Unstructured) error
	// confirmed reports whether the status says that BIND has the data. Nil if none says so.
	confirmed func(object *unstructured.Unstructured) bool
	once      bool
	start     func(ctx context.Context, s *stack) error
}

var dnsEndpoints = schema.GroupVersionResource{Group: "externaldns.k8s.io", Version: "v1alpha1", Resource: "dnsendpoints"}

var systems = []*system{
	{
		name: kubizone, kind: "Record", resource: v1alpha1.SchemeGroupVersion.WithResource("records"), start: startKubizone,
		spec: specOfRecord,
		answered: func(object *unstructured.Unstructured) error {
			if !hasCondition(object, v1alpha1.ConditionAdopted) {
				return fmt.Errorf("%s is not adopted: %v", object.GetName(), object.Object["status"])
			}
			return nil
		},
		confirmed: func(object *unstructured.Unstructured) bool { return hasCondition(object, v1alpha1.ConditionReady) },
	},
	{
		name: plainCRD, kind: "Record", resource: schema.GroupVersionResource{Group: "minimal.example", Version: "v1", Resource: "records"},
		start: startMinimal, spec: func(host, data string) map[string]any {
			return map[string]any{"name": host + "." + domain, "type": "A", "ttl": int64(300), "values": []any{data}}
		},
		confirmed: func(object *unstructured.Unstructured) bool { return hasCondition(object, "Ready") },
	},
	{name: raised, kind: "DNSEndpoint", resource: dnsEndpoints, spec: specOfEndpoint,
		start: startExternalDNS("--kube-api-qps=1000", "--kube-api-burst=2000", "--min-event-sync-interval=1s")},
	{name: defaults, kind: "DNSEndpoint", resource: dnsEndpoints, spec: specOfEndpoint, once: true, start: startExternalDNS()},
}

func specOfRecord(host, data string) map[string]any {
	return map[string]any{"domainName": host + "." + domain, "type": "A", "ttl": int64(300), "values": []any{data}}
}

func specOfEndpoint(host, data string) map[string]any {
	return map[string]any{"endpoints": []any{map[string]any{
		"dnsName": host + "." + strings.TrimSuffix(domain, "."), "recordType": "A", "recordTTL": int64(300), "targets": []any{data},
	}}}
}

func hasCondition(object *unstructured.Unstructured, name string) bool {
	all, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, one := range all {
		c, ok := one.(map[string]any)
		if ok && c["type"] == name && c["status"] == "True" {
			observed, found := c["observedGeneration"]
			return !found || observed == object.GetGeneration()
		}
	}
	return false
}

// startKubizone starts a server sized as the chart's mode embedded, and a BIND as secondary.
func startKubizone(ctx context.Context, s *stack) error {
	account, err := s.kube.Delegate(ctx)
	if err != nil {
		return err
	}
	at, err := rig.FreePort()
	if err != nil {
		return err
	}
	bindAt, err := rig.FreePort()
	if err != nil {
		return err
	}
	args := []string{"--namespace-budget=written=512Ki"}
	for _, section := range [][]string{{"controller"}, {"primary", "--dns-listen", at.String()}} {
		// All rights cost as much as the chart's roles.
		user := "system:serviceaccount:" + kuberig.InstallNamespace + ":kubizone-" + section[0]
		all := []string{"*"}
		if err := s.kube.Grant(ctx, "", user, rbacv1.PolicyRule{APIGroups: all, Resources: all, Verbs: all}); err != nil {
			return err
		}
		args = append(append(args, "--"), section...)
		args = append(args, "--as", user, "--kubeconfig", s.kube.AdminKubeconfig(), "--health-listen", "127.0.0.1:0")
	}
	s.server, err = kuberig.StartServer(ctx, filepath.Join(s.dir, "server"), kuberig.ServerConfig{
		Program: s.programs.kubizone, Kube: s.kube, Kubeconfig: account, Args: args, Env: []string{"GOMEMLIMIT=425MiB"}})
	if err != nil {
		return err
	}
	endpoint, running := embed.RunningEndpoint(filepath.Join(s.dir, "server", "data"))
	if !running {
		return errors.New("the server's etcd has no socket in its data directory")
	}
	s.members = append(s.members, endpoint)
	if err := s.kube.Aggregate(ctx, s.server.Addr, s.kube.ClusterCA.PEM); err != nil {
		return err
	}
	if _, _, err := s.kube.WaitAvailable(ctx, true); err != nil {
		return err
	}
	if err := s.makeZone(ctx, bindAt); err != nil {
		return err
	}
	return s.startSecondary(ctx, bindAt, at)
}

func (s *stack) makeZone(ctx context.Context, secondary netip.AddrPort) error {
	core, err := s.kube.Clients()
	if err != nil {
		return err
	}
	key := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "bench"}, StringData: map[string]string{
		"name": updateKey.Name, "algorithm": updateKey.Algorithm, "secret": updateKey.Secret}}
	if _, err := core.CoreV1().Secrets(namespace).Create(ctx, key, metav1.CreateOptions{}); err != nil {
		return err
	}
	client, err := versioned.NewForConfig(s.clientConfig())
	if err != nil {
		return err
	}
	class := &v1alpha1.DNSClass{ObjectMeta: metav1.ObjectMeta{Name: "bench"}, Spec: v1alpha1.DNSClassSpec{
		AllowLocalAddresses: true, Namespaces: &v1alpha1.NamespaceSelection{Names: []string{namespace}},
		Transfer: &v1alpha1.TransferProvider{Secondaries: []v1alpha1.Secondary{{Address: secondary.String()}},
			TSIGSecretRef: &v1alpha1.SecretReference{Namespace: namespace, Name: "bench"}},
	}}
	if _, err := client.KubizoneV1alpha1().DNSClasses().Create(ctx, class, metav1.CreateOptions{}); err != nil {
		return err
	}
	zone := &v1alpha1.Zone{ObjectMeta: metav1.ObjectMeta{Name: "bench"}, Spec: v1alpha1.ZoneSpec{
		DomainName: domain, NameServers: []v1alpha1.NameServer{{Name: "ns.example.net."}},
		DNSClassRefs: []v1alpha1.DNSClassReference{{Name: class.Name}},
		Delegations:  []v1alpha1.DelegationRule{{Namespace: namespace, Records: []v1alpha1.RecordDelegation{{Pattern: "*"}}}},
	}}
	_, err = client.KubizoneV1alpha1().Zones(namespace).Create(ctx, zone, metav1.CreateOptions{})
	return err
}

const minimalCRD = `{apiVersion: apiextensions.k8s.io/v1, kind: CustomResourceDefinition, metadata: {name: records.minimal.example}, spec: {
  group: minimal.example, scope: Namespaced, names: {kind: Record, listKind: RecordList, plural: records, singular: record},
  versions: [{name: v1, served: true, storage: true, subresources: {status: {}}, schema: {openAPIV3Schema: {type: object, properties: {
    spec: {type: object, required: [name, type, values], properties: {
      name: {type: string, maxLength: 255}, type: {type: string}, ttl: {type: integer}, values: {type: array, items: {type: string}}}},
    status: {type: object, properties: {observedGeneration: {type: integer}, conditions: {type: array, items: {type: object,
      required: [type, status], properties: {type: {type: string}, status: {type: string}, reason: {type: string}, message: {type: string},
        observedGeneration: {type: integer}, lastTransitionTime: {type: string, format: date-time}}}}}}}}}}]}}`

func startMinimal(ctx context.Context, s *stack) error {
	if err := s.startPrimary(ctx); err != nil {
		return err
	}
	if err := s.makeKind(ctx, []byte(minimalCRD)); err != nil {
		return err
	}
	return s.launchProgram(ctx, "^ready$", s.programs.minimal, "--kubeconfig", s.kube.AdminKubeconfig(),
		"--server", s.bind.Addr.String(), "--zone", domain, "--key", updateKey.Name+".", "--secret", updateKey.Secret)
}

func startExternalDNS(further ...string) func(context.Context, *stack) error {
	return func(ctx context.Context, s *stack) error {
		if err := s.startPrimary(ctx); err != nil {
			return err
		}
		kind, err := readEndpointKind(ctx)
		if err != nil {
			return err
		}
		if err := s.makeKind(ctx, kind); err != nil {
			return err
		}
		metrics, err := rig.FreePort()
		if err != nil {
			return err
		}
		return s.launchProgram(ctx, "All records are already up to date", s.programs.externalDNS, append([]string{
			"--kubeconfig", s.kube.AdminKubeconfig(), "--metrics-address", metrics.String(),
			"--source=crd", "--events", "--policy=sync", "--registry=txt", "--txt-owner-id=bench", "--provider=rfc2136",
			"--rfc2136-host", s.bind.Addr.Addr().String(), "--rfc2136-port", fmt.Sprint(s.bind.Addr.Port()),
			"--rfc2136-zone", strings.TrimSuffix(domain, "."), "--rfc2136-axfr", "--rfc2136-tsig-keyname", updateKey.Name,
			"--rfc2136-tsig-secret", updateKey.Secret, "--rfc2136-tsig-secret-alg", updateKey.Algorithm,
		}, further...)...)
	}
}

func readEndpointKind(ctx context.Context) ([]byte, error) {
	root, err := rig.Root()
	if err != nil {
		return nil, err
	}
	list := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "sigs.k8s.io/external-dns")
	list.Dir = filepath.Join(root, "hack/tools/external-dns")
	list.Env = append(os.Environ(), "GOFLAGS=-mod=readonly", "GOWORK=off")
	dir, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("the directory of external-dns' module: %w", err)
	}
	return os.ReadFile(filepath.Join(strings.TrimSpace(string(dir)), "config/crd/standard/dnsendpoints.externaldns.k8s.io.yaml"))
}

func (s *stack) makeKind(ctx context.Context, text []byte) error {
	client, err := dynamic.NewForConfig(s.clientConfig())
	if err != nil {
		return err
	}
	kind := &unstructured.Unstructured{}
	if err := yaml.Unmarshal(text, &kind.Object); err != nil {
		return err
	}
	kinds := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	if _, err := client.Resource(kinds).Create(ctx, kind, metav1.CreateOptions{}); err != nil {
		return err
	}
	return waitUntil(ctx, kind.GetName()+" served", askStatuses, func() (bool, error) {
		_, err := s.objects.List(ctx, metav1.ListOptions{})
		return err == nil, nil
	})
}
