// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

// Command argohealth prints the health that Argo CD computes by the health scripts of an argocd-cm. The input is JSON
// of kubectl get -o json, the output a line for each object. As in Argo CD, a script has the global obj, the libraries
// base, package and table, and one second.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path"
	"time"

	lua "github.com/yuin/gopher-lua"
	"gopkg.in/yaml.v2"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: argohealth ARGOCD-CM.yaml < objects.json")
		os.Exit(1)
	}
	if err := run(os.Args[1]); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

type scripts map[string]struct {
	Health string `yaml:"health.lua"`
}

func run(file string) error {
	content, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	var config struct {
		Data map[string]string `yaml:"data"`
	}
	if err := yaml.Unmarshal(content, &config); err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	var known scripts
	if err := yaml.UnmarshalStrict([]byte(config.Data["resource.customizations"]), &known); err != nil {
		return fmt.Errorf("%s: resource.customizations: %w", file, err)
	}
	var read unstructured.Unstructured
	if err := json.NewDecoder(os.Stdin).Decode(&read); err != nil {
		return err
	}
	objects := []unstructured.Unstructured{read}
	if read.IsList() {
		list, err := read.ToList()
		if err != nil {
			return err
		}
		objects = list.Items
	}
	for _, object := range objects {
		says, err := known.judge(&object)
		if err != nil {
			return err
		}
		fmt.Printf("%s/%s %s\n", object.GetKind(), object.GetName(), says)
	}
	return nil
}

func (s scripts) judge(object *unstructured.Unstructured) (string, error) {
	if object.GetDeletionTimestamp() != nil {
		return "Progressing: Pending deletion", nil
	}
	kind := object.GroupVersionKind()
	for pattern, script := range s {
		if match, err := path.Match(pattern, kind.Group+"/"+kind.Kind); err != nil {
			return "", err
		} else if match {
			return judge(object, script.Health)
		}
	}
	return "none", nil
}

func judge(object *unstructured.Unstructured, script string) (string, error) {
	state := lua.NewState(lua.Options{SkipOpenLibs: true})
	defer state.Close()
	for name, open := range map[string]lua.LGFunction{lua.LoadLibName: lua.OpenPackage, lua.BaseLibName: lua.OpenBase,
		lua.TabLibName: lua.OpenTable} {
		if err := state.CallByParam(lua.P{Fn: state.NewFunction(open), Protect: true}, lua.LString(name)); err != nil {
			return "", err
		}
	}
	limited, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	state.SetContext(limited)
	state.SetGlobal("obj", value(state, object.Object))
	if err := state.DoString(script); err != nil {
		return "", err
	}
	health, ok := state.Get(-1).(*lua.LTable)
	if !ok {
		return "", fmt.Errorf("the script returns a %s: want a table", state.Get(-1).Type())
	}
	status := lua.LVAsString(health.RawGetString("status"))
	switch status {
	case "Healthy", "Progressing", "Degraded", "Suspended", "Missing", "Unknown":
	default:
		return "", fmt.Errorf("the script returns the status %q, which Argo CD does not know", status)
	}
	return status + ": " + lua.LVAsString(health.RawGetString("message")), nil
}

func value(state *lua.LState, of any) lua.LValue {
	switch of := of.(type) {
	case bool:
		return lua.LBool(of)
	case string:
		return lua.LString(of)
	case int64:
		return lua.LNumber(of)
	case float64:
		return lua.LNumber(of)
	case []any:
		table := state.NewTable()
		for _, item := range of {
			table.Append(value(state, item))
		}
		return table
	case map[string]any:
		table := state.NewTable()
		for key, item := range of {
			table.RawSetString(key, value(state, item))
		}
		return table
	}
	return lua.LNil
}
