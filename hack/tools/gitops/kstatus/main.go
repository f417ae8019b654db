// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command kstatus prints the status of objects by the library kstatus, with which Flux and other tools wait. The input
// is JSON of kubectl get -o json, the output a line for each object. A separate module keeps the library out of the
// product.
package main

import (
	"encoding/json"
	"fmt"
	"os"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/cli-utils/pkg/kstatus/status"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	var read unstructured.Unstructured
	if err := json.NewDecoder(os.Stdin).Decode(&read); err != nil {
		return err
	}
	if !read.IsList() {
		return say(&read)
	}
	list, err := read.ToList()
	if err != nil {
		return err
	}
	for i := range list.Items {
		if err := say(&list.Items[i]); err != nil {
			return err
		}
	}
	return nil
}

func say(object *unstructured.Unstructured) error {
	result, err := status.Compute(object)
	if err != nil {
		return err
	}
	fmt.Printf("%s/%s %s: %s\n", object.GetKind(), object.GetName(), result.Status, result.Message)
	return nil
}
