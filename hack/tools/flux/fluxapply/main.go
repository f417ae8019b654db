// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command fluxapply reconciles manifests like Flux's kustomize-controller, with its library: the command applies all
// manifests by server-side apply, after a dry run of each, writes the inventory, and deletes objects of the inventory
// without a manifest. After a failed apply, nothing is deleted. The command prints a line for each change.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"
	"time"

	"github.com/fluxcd/pkg/ssa"
	"github.com/fluxcd/pkg/ssa/utils"
	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log"
)

func main() {
	log.SetLogger(logr.Discard())
	if len(os.Args) < 3 {
		fmt.Fprintln(os.Stderr, "usage: fluxapply INVENTORY MANIFEST...   ($KUBECONFIG says where)")
		os.Exit(1)
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := reconcile(ctx, os.Args[1], os.Args[2:]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func reconcile(ctx context.Context, inventory string, files []string) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	cluster, err := client.New(config, client.Options{})
	if err != nil {
		return err
	}
	var objects []*unstructured.Unstructured
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			return err
		}
		read, err := utils.ReadObjects(f)
		_ = f.Close()
		if err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
		objects = append(objects, read...)
	}
	manager := ssa.NewResourceManager(cluster, nil, ssa.Owner{Field: "kustomize-controller", Group: "kustomize.toolkit.fluxcd.io"})
	applied, err := manager.ApplyAllStaged(ctx, objects, ssa.DefaultApplyOptions())
	if err != nil {
		return err
	}
	printChanges(applied)
	var before, after []*unstructured.Unstructured
	if err := readInventory(inventory, &before); err != nil {
		return err
	}
	for _, o := range objects {
		entry := &unstructured.Unstructured{}
		entry.SetGroupVersionKind(o.GroupVersionKind())
		entry.SetNamespace(o.GetNamespace())
		entry.SetName(o.GetName())
		after = append(after, entry)
	}
	data, err := json.Marshal(after)
	if err != nil {
		return err
	}
	if err := os.WriteFile(inventory, data, 0o600); err != nil {
		return err
	}
	stale := slices.DeleteFunc(before, func(was *unstructured.Unstructured) bool {
		return slices.ContainsFunc(after, func(is *unstructured.Unstructured) bool {
			return utils.FmtUnstructured(is) == utils.FmtUnstructured(was)
		})
	})
	pruned, err := manager.DeleteAll(ctx, stale, ssa.DefaultDeleteOptions())
	printChanges(pruned)
	return err
}

func readInventory(file string, into *[]*unstructured.Unstructured) error {
	data, err := os.ReadFile(file)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	return json.Unmarshal(data, into)
}

func printChanges(set *ssa.ChangeSet) {
	if set == nil {
		return
	}
	for _, entry := range set.Entries {
		fmt.Println(entry.String())
	}
}
