// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command argosync syncs manifests like an Application of Argo CD, with Argo CD's engine. Objects in the namespace that
// have the label app and no manifest are pruned, in the engine's order. With -health, a program such as argohealth
// judges objects: it reads JSON and prints "KIND/NAME STATUS: MESSAGE". The command prints a line for each result.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"

	"github.com/argoproj/gitops-engine/pkg/cache"
	"github.com/argoproj/gitops-engine/pkg/health"
	"github.com/argoproj/gitops-engine/pkg/sync"
	"github.com/argoproj/gitops-engine/pkg/sync/common"
	"github.com/argoproj/gitops-engine/pkg/utils/kube"
	"github.com/argoproj/gitops-engine/pkg/utils/tracing"
	"github.com/go-logr/logr"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
)

// label marks the objects of an Application, by application.instanceLabelKey.
const label = "app"

var (
	namespace = flag.String("namespace", "", "the namespace of the Application")
	name      = flag.String("app", "dns", "the Application")
	pruneLast = flag.Bool("prune-last", false, "the sync option PruneLast")
	server    = flag.Bool("server-side", false, "the sync option ServerSideApply")
	judge     = flag.String("health", "", "the program that judges objects, with its arguments")
)

func main() {
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	if err := run(ctx, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(ctx context.Context, files []string) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	var objects []*unstructured.Unstructured
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		read, err := kube.SplitYAML(data)
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		objects = append(objects, read...)
	}
	for _, o := range objects {
		labels := o.GetLabels()
		if labels == nil {
			labels = map[string]string{}
		}
		labels[label] = *name
		o.SetLabels(labels)
	}
	live := cache.NewClusterCache(config, cache.SetNamespaces([]string{*namespace}), cache.SetLogr(logr.Discard()),
		cache.SetSettings(cache.Settings{ResourcesFilter: ours{}}),
		cache.SetPopulateResourceInfoHandler(func(o *unstructured.Unstructured, _ bool) (any, bool) { return o.GetLabels()[label], true }))
	if err := live.EnsureSynced(); err != nil {
		return err
	}
	phase, results, err := syncAll(ctx, config, live, objects)
	failed := err
	for _, r := range results {
		fmt.Printf("%s/%s %s %s: %s\n", r.ResourceKey.Kind, r.ResourceKey.Name, r.Status, r.HookPhase, r.Message)
	}
	if failed == nil && phase != common.OperationSucceeded {
		failed = fmt.Errorf("the sync ended as %s", phase)
	}
	return failed
}

// Like Argo CD's controller, each round starts with the last round's state and the current objects.
func syncAll(ctx context.Context, config *rest.Config, live cache.ClusterCache, objects []*unstructured.Unstructured) (
	phase common.OperationPhase, results []common.ResourceSyncResult, err error) {
	message, began := "", metav1.Now()
	phase = common.OperationRunning
	for {
		have, err := live.GetManagedLiveObjs(objects, func(r *cache.Resource) bool { return r.Info == *name })
		if err != nil {
			return phase, results, err
		}
		options := []sync.SyncOpt{sync.WithPrune(true), sync.WithPruneConfirmed(true), sync.WithPruneLast(*pruneLast),
			sync.WithServerSideApply(*server), sync.WithServerSideApplyManager("argocd-controller"), sync.WithLogr(logr.Discard()),
			sync.WithInitialState(phase, message, results, began)}
		if *judge != "" {
			options = append(options, sync.WithHealthOverride(override{}))
		}
		round, cleanup, err := sync.NewSyncContext("main", sync.Reconcile(objects, have, *namespace, live), config, config,
			&kube.KubectlCmd{Log: logr.Discard(), Tracer: tracing.NopTracer{}}, *namespace, live.GetOpenAPISchema(), options...)
		if err != nil {
			return phase, results, err
		}
		round.Sync()
		phase, message, results = round.GetState()
		cleanup()
		if phase.Completed() {
			return phase, results, nil
		}
		select {
		case <-ctx.Done():
			return phase, results, fmt.Errorf("%s: %w", message, ctx.Err())
		case <-time.After(300 * time.Millisecond):
		}
	}
}

// ours restricts the cache to the groups of kubi.zone: a tenant may not list everything in a cluster.
type ours struct{}

func (ours) IsExcludedResource(group, kind, _ string) bool {
	return group != "kubi.zone" || !slices.Contains([]string{"Zone", "Record"}, kind)
}

type override struct{}

func (override) GetResourceHealth(o *unstructured.Unstructured) (*health.HealthStatus, error) {
	list, err := json.Marshal(map[string]any{"apiVersion": "v1", "kind": "List", "items": []any{o.Object}})
	if err != nil {
		return nil, err
	}
	arguments := strings.Fields(*judge)
	command := exec.Command(arguments[0], arguments[1:]...)
	command.Stdin, command.Stderr = bytes.NewReader(list), io.Discard
	out, err := command.Output()
	if err != nil {
		return nil, err
	}
	_, says, _ := strings.Cut(string(out), " ")
	status, message, _ := strings.Cut(says, ": ")
	return &health.HealthStatus{Status: health.HealthStatusCode(status), Message: strings.TrimSpace(message)}, nil
}
