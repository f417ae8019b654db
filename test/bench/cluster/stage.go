// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/yaml"

	"kubi.zone/kubizone/test/bench/figures"
	"kubi.zone/kubizone/test/rig"
	"kubi.zone/kubizone/test/rig/kuberig"
)

// stage is everything that runs, and the arms over it.
type stage struct {
	plan plan
	dir  string
	say  func(format string, args ...any)

	kube             *kuberig.Kube
	kubizone, sample *backend
	tenant           string // kubeconfig
	arms             []*arm
}

// backend is an aggregated server with its etcd.
type backend struct {
	config kuberig.ServerConfig
	dir    string
	server *kuberig.Server
	etcd   *kuberig.Etcd
}

func (s *stage) start(ctx context.Context, into *figures.Results) error {
	program, err := rig.KubeProgram("sample-apiserver")
	if err != nil {
		return err
	}
	s.say("starting servers in %s", s.dir)
	if s.kube, err = kuberig.StartKube(ctx, filepath.Join(s.dir, "kube"), kuberig.KubeConfig{}); err != nil {
		return err
	}
	kubizone, err := rig.Kubizone(ctx, s.dir, "")
	if err != nil {
		return err
	}
	kubeconfig, err := s.kube.Delegate(ctx)
	if err != nil {
		return err
	}
	if s.kubizone, err = s.newBackend(ctx, "kubizone", kuberig.ServerConfig{
		Program: kubizone, Kubeconfig: kubeconfig, Args: []string{"--shutdown-delay-duration", "0s"}, // no Service has to forget it
	}); err != nil {
		return err
	}
	if err := s.kube.Aggregate(ctx, s.kubizone.server.Addr, s.kube.ClusterCA.PEM); err != nil {
		return err
	}
	serving, err := s.kube.ClusterCA.Serving(sampleService+"."+kuberig.InstallNamespace+".svc", "localhost", "127.0.0.1")
	if err != nil {
		return err
	}
	// sample-apiserver has the same flags, takes no notice of a sub-command, and needs the same rights.
	if s.sample, err = s.newBackend(ctx, "sample", kuberig.ServerConfig{Program: program, Kubeconfig: kubeconfig, Serving: serving}); err != nil {
		return err
	}
	if err := s.register(ctx); err != nil {
		return err
	}
	if err := s.grant(ctx); err != nil {
		return err
	}
	if err := s.makeArms(); err != nil {
		return err
	}
	if err := s.zones(ctx); err != nil {
		return err
	}
	return s.populate(ctx, into)
}

func (s *stage) newBackend(ctx context.Context, name string, c kuberig.ServerConfig) (b *backend, err error) {
	b = &backend{config: c, dir: filepath.Join(s.dir, name+"-server")} // the program stands at s.dir/kubizone
	if b.etcd, err = kuberig.StartEtcd(ctx, filepath.Join(s.dir, name+"-etcd")); err != nil {
		return nil, err
	}
	b.config.Kube, b.config.Etcd = s.kube, b.etcd.Endpoint
	if err = b.start(ctx); err != nil {
		b.etcd.Close()
		return nil, err
	}
	// A process that starts again has its former address.
	b.config.Addr = b.server.Addr
	return b, nil
}

func (b *backend) start(ctx context.Context) (err error) {
	b.server, err = kuberig.StartServer(ctx, b.dir, b.config)
	return err
}

// stop as a kubelet does.
func (b *backend) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	return b.server.Stop(ctx)
}

func (s *stage) close() {
	for _, b := range []*backend{s.kubizone, s.sample} {
		if b != nil {
			b.server.Close()
			b.etcd.Close()
		}
	}
	if s.kube != nil {
		s.kube.Close()
	}
}

const sampleService = "sample-apiserver"

// crd is of a resource that says what a Record says.
const crd = `
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: customrecords.bench.kubi.zone}
spec:
  group: bench.kubi.zone
  scope: Namespaced
  names: {plural: customrecords, singular: customrecord, kind: CustomRecord, listKind: CustomRecordList}
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        required: [spec]
        properties:
          spec:
            type: object
            required: [domainName, type, values]
            properties:
              domainName: {type: string, maxLength: 253}
              type: {type: string, enum: [A, AAAA, CNAME, MX, TXT]}
              ttl: {type: integer, format: int32, minimum: 0}
              values: {type: array, maxItems: 100, items: {type: string, maxLength: 1024}}
              note: {type: string, maxLength: 1024}
`

// register makes the resources beside ours known to kube-apiserver.
func (s *stage) register(ctx context.Context) error {
	clients, err := s.kube.Clients()
	if err != nil {
		return err
	}
	objects, err := dynamic.NewForConfig(s.kube.Admin())
	if err != nil {
		return err
	}
	definition := &unstructured.Unstructured{}
	if err := yaml.Unmarshal([]byte(crd), &definition.Object); err != nil {
		return err
	}
	definitions := schema.GroupVersionResource{Group: "apiextensions.k8s.io", Version: "v1", Resource: "customresourcedefinitions"}
	if _, err := objects.Resource(definitions).Create(ctx, definition, metav1.CreateOptions{}); err != nil {
		return err
	}
	port := s.sample.server.Addr.Port()
	if _, err := clients.CoreV1().Services(kuberig.InstallNamespace).Create(ctx, &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Name: sampleService},
		Spec: corev1.ServiceSpec{
			Type: corev1.ServiceTypeExternalName, ExternalName: "localhost", Ports: []corev1.ServicePort{{Port: int32(port)}},
		},
	}, metav1.CreateOptions{}); err != nil {
		return err
	}
	services := schema.GroupVersionResource{Group: "apiregistration.k8s.io", Version: "v1", Resource: "apiservices"}
	_, err = objects.Resource(services).Create(ctx, &unstructured.Unstructured{Object: map[string]any{
		"apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
		"metadata": map[string]any{"name": "v1alpha1.wardle.example.com"},
		"spec": map[string]any{
			"group": "wardle.example.com", "version": "v1alpha1", "groupPriorityMinimum": int64(1000), "versionPriority": int64(15),
			"service":  map[string]any{"namespace": kuberig.InstallNamespace, "name": sampleService, "port": int64(port)},
			"caBundle": base64.StdEncoding.EncodeToString(s.kube.ClusterCA.PEM),
		},
	}}, metav1.CreateOptions{})
	return err
}

// grant makes the namespaces and a tenant with every right to the objects in two of them.
func (s *stage) grant(ctx context.Context) (err error) {
	const user = "alice"
	if s.tenant, err = s.kube.Tenant(user, "tenants"); err != nil {
		return err
	}
	clients, err := s.kube.Clients()
	if err != nil {
		return err
	}
	for _, namespace := range []string{zoneNamespace, roundNamespace, populationNamespace, bigNamespace} {
		if err := s.kube.Namespace(ctx, namespace); err != nil {
			return err
		}
		// The server is measured, and not the budget of one namespace (S9).
		unlimited := []byte(`{"metadata":{"annotations":{"kubi.zone/budget":"stored=unlimited,written=unlimited"}}}`)
		if _, err := clients.CoreV1().Namespaces().Patch(ctx, namespace, types.MergePatchType, unlimited, metav1.PatchOptions{}); err != nil {
			return err
		}
	}
	rule := rbacv1.PolicyRule{Verbs: []string{"create", "get", "list", "watch", "update", "patch", "delete"}}
	for _, k := range []kind{records, flunders, custom} {
		rule.APIGroups, rule.Resources = append(rule.APIGroups, k.group()), append(rule.Resources, k.resource)
	}
	for _, namespace := range []string{roundNamespace, populationNamespace} {
		if err := s.kube.Grant(ctx, namespace, user, rule); err != nil {
			return err
		}
	}
	return nil
}

func (s *stage) makeArms() error {
	kubizone, sample := []int{s.kube.Pid(), s.kubizone.server.Pid()}, []int{s.kube.Pid(), s.sample.server.Pid()}
	for _, user := range []string{masters, tenant} {
		kubeconfig := s.kube.AdminKubeconfig()
		if user == tenant {
			kubeconfig = s.tenant
		}
		through, err := kuberig.ClientConfig(kubeconfig)
		if err != nil {
			return err
		}
		ours, err := s.kubizone.server.Direct(kubeconfig)
		if err != nil {
			return err
		}
		theirs, err := s.sample.server.Direct(kubeconfig)
		if err != nil {
			return err
		}
		for _, way := range []struct {
			kind
			via     string
			config  *rest.Config
			servers []int
		}{
			{records, direct, ours, kubizone}, {flunders, direct, theirs, sample}, {custom, direct, through, kubizone[:1]},
			{records, aggregated, through, kubizone}, {flunders, aggregated, through, sample},
		} {
			a, err := newArm(way.kind, way.via, user, way.config)
			if err != nil {
				return err
			}
			a.servers = way.servers
			s.arms = append(s.arms, a)
		}
	}
	return nil
}

// to is the arm of system:masters straight to where a kind is served.
func (s *stage) to(k kind) *arm {
	for _, a := range s.arms {
		if a.name == k.name && a.via == direct && a.user == masters {
			return a
		}
	}
	return nil
}

// zones makes the zones that delegate all names to the namespaces of Records.
func (s *stage) zones(ctx context.Context) error {
	client := s.to(records)
	for i := range manyZones {
		zone := fmt.Sprintf(`{"apiVersion":"kubi.zone/v1alpha1","kind":"Zone","metadata":{"name":"z%02d"},"spec":{"domainName":%q,`+
			`"nameServers":[{"name":"ns1","addresses":["192.0.2.53"]}],"delegations":[{"namespaces":[%q,%q,%q],"records":[{"pattern":"*"}]}]}}`,
			i, domain(i), roundNamespace, populationNamespace, bigNamespace)
		if err := client.client.Post().AbsPath(client.path).Namespace(zoneNamespace).Resource("zones").Body([]byte(zone)).Do(ctx).Error(); err != nil {
			return fmt.Errorf("zone %s: %w", domain(i), err)
		}
	}
	return nil
}

// populate makes what is listed and watched, and waits until every arm answers: kube-apiserver learns by and by of what
// it serves.
func (s *stage) populate(ctx context.Context, into *figures.Results) error {
	for _, a := range s.arms {
		if err := a.answers(ctx); err != nil {
			return fmt.Errorf("%s: %w", a, err)
		}
	}
	for _, k := range []kind{records, flunders, custom} {
		if err := every(ctx, many, s.plan.Population, func(ctx context.Context, i int) error {
			answer, err := s.to(k).create(ctx, populationNamespace, fmt.Sprintf("p-%05d", i), i)
			if i == 0 {
				into.Add("size/"+k.name, "B", float64(len(answer)))
			}
			return err
		}); err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	return nil
}

// answers waits until a list is answered.
func (a *arm) answers(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	for {
		err := a.request("GET", populationNamespace).Do(ctx).Error()
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, context.Cause(ctx))
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// profiles takes a CPU profile of kubizone under each arm of Records, apart from what is measured.
func (s *stage) profiles(ctx context.Context, _ *figures.Results) error {
	if s.plan.Profiles == "" {
		return nil
	}
	if err := os.MkdirAll(s.plan.Profiles, 0o755); err != nil {
		return err
	}
	const seconds = "5"
	for _, a := range s.arms {
		if a.name != records.name {
			continue
		}
		taken := make(chan error, 1)
		go func() {
			profile, err := s.to(records).client.Get().AbsPath("/debug/pprof/profile").Param("seconds", seconds).DoRaw(ctx)
			if err == nil {
				err = os.WriteFile(filepath.Join(s.plan.Profiles, a.via+"-"+strings.TrimPrefix(a.user, "system:")+".cpu.pb.gz"), profile, 0o644)
			}
			taken <- err
		}()
		if err := a.until(ctx, load{many, 500}, taken); err != nil {
			return fmt.Errorf("profile: %s: %w", a, err)
		}
	}
	s.say("profiles of kubizone are in %s", s.plan.Profiles)
	return nil
}

// until puts batches through the arm until done tells something.
func (a *arm) until(ctx context.Context, l load, done <-chan error) error {
	for n := 0; ; n++ {
		select {
		case err := <-done:
			return err
		default:
			if err := a.batch(ctx, l, fmt.Sprintf("u%04d", n), map[string]sample{}); err != nil {
				return err
			}
		}
	}
}
