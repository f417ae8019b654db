// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package exporter

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"
	"go.yaml.in/yaml/v3"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"

	"kubi.zone/kubizone/api/client/clientset/versioned"
	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/cmd/kubeconfig"
	"kubi.zone/kubizone/cmd/output"
	"kubi.zone/kubizone/pkg/client/load"
	"kubi.zone/kubizone/pkg/kit/terminal"
)

const zoneFile = "zonefile"

// exportFile copies the zone file from the server. An error while copying leaves a part in out, and says "cut".
func exportFile(ctx context.Context, client versioned.Interface, zone types.NamespacedName, out, remarks io.Writer) error {
	text, err := load.OpenEntries(ctx, client, zone)
	if err != nil {
		return err
	}
	defer text.Close()
	bar := output.StartBar(remarks, "octets of entries:")
	defer bar.End()
	if _, err := io.Copy(out, io.TeeReader(text, bar)); err != nil {
		return fmt.Errorf("entries of zone %s, cut: %w", zone, err)
	}
	return nil
}

// exportManifests writes the Zone, its Delegations and Records as manifests, in an order in which they can be applied.
// Objects that the user may not list are named in remarks.
func exportManifests(ctx context.Context, client versioned.Interface, id types.NamespacedName, format *output.Format, out,
	remarks io.Writer) error {
	zone, err := client.KubizoneV1alpha1().Zones(id.Namespace).Get(ctx, id.Name, metav1.GetOptions{})
	if err != nil {
		return err
	}
	var missing []string // of the export, and the right to ask for
	records, err := listRecords(ctx, client, metav1.NamespaceAll, id)
	if apierrors.IsForbidden(err) {
		// A tenant who may not list Records of all namespaces gets those of the zone's namespace.
		missing = append(missing, fmt.Sprintf("records of the zone from other namespaces than %s are missing: no permission to list them "+
			"(%v); ask for permission to list records in all namespaces, or export -o zonefile", id.Namespace, err))
		records, err = listRecords(ctx, client, id.Namespace, id)
	}
	if err != nil {
		return err
	}
	manifests := []manifest{{"Zone", zone}}
	err = load.EachItem(ctx, client.KubizoneV1alpha1().Delegations(id.Namespace).List,
		metav1.ListOptions{FieldSelector: v1alpha1.FieldDelegationZoneRefName + "=" + id.Name}, func(d *v1alpha1.Delegation) error {
			manifests = append(manifests, manifest{"Delegation", d})
			return nil
		})
	if apierrors.IsForbidden(err) {
		// A tenant who may read Zones and Records only still exports both.
		missing = append(missing, fmt.Sprintf("Delegations of the zone are missing: no permission to list them (%v); "+
			"ask for permission to list delegations in namespace %s", err, id.Namespace))
	} else if err != nil {
		return err
	}
	manifests = append(manifests, records...)
	buffered := bufio.NewWriter(out)
	if err := writeManifests(buffered, manifests, format.Is(output.JSON)); err != nil {
		return err
	}
	if err := buffered.Flush(); err != nil {
		return err
	}
	// After the manifests, so that a terminal shows the remarks.
	for _, remark := range missing {
		if _, err := terminal.Fprintf(remarks, "%s\n", remark); err != nil {
			return err
		}
	}
	return nil
}

func listRecords(ctx context.Context, client versioned.Interface, namespace string, zone types.NamespacedName) (records []manifest,
	err error) {
	options := metav1.ListOptions{FieldSelector: v1alpha1.FieldRecordZone + "=" + zone.String()}
	err = load.EachItem(ctx, client.KubizoneV1alpha1().Records(namespace).List, options, func(r *v1alpha1.Record) error {
		records = append(records, manifest{"Record", r})
		return nil
	})
	return records, err
}

type manifest struct {
	kind   string
	object metav1.Object
}

// asWritten returns the object as a user would write it: without status, and without metadata of the server.
func (m manifest) asWritten() (map[string]any, error) {
	content, err := runtime.DefaultUnstructuredConverter.ToUnstructured(m.object)
	if err != nil {
		return nil, err
	}
	delete(content, "status")
	content["apiVersion"], content["kind"] = v1alpha1.SchemeGroupVersion.String(), m.kind
	kept := metav1.ObjectMeta{Namespace: m.object.GetNamespace(), Name: m.object.GetName(), Labels: m.object.GetLabels(),
		Annotations: m.object.GetAnnotations()}
	// Drop labels of the server and of a loaded file, and kubectl's copy of the object.
	delete(kept.Labels, v1alpha1.GroupName+"/parent-zone")
	delete(kept.Labels, load.LabelLoaded)
	delete(kept.Annotations, "kubectl.kubernetes.io/last-applied-configuration")
	content["metadata"], err = runtime.DefaultUnstructuredConverter.ToUnstructured(&kept)
	return content, err
}

// writeManifests writes manifests as YAML documents, or as a List in JSON.
func writeManifests(out *bufio.Writer, manifests []manifest, asList bool) error {
	items := make([]map[string]any, len(manifests))
	// Convert all before the first is written, so that an error leaves no half file.
	for i, m := range manifests {
		var err error
		if items[i], err = m.asWritten(); err != nil {
			return err
		}
	}
	if asList {
		encoder := json.NewEncoder(out)
		encoder.SetIndent("", "  ")
		return encoder.Encode(map[string]any{"apiVersion": "v1", "kind": "List", "items": items})
	}
	for i, content := range items {
		if i > 0 {
			_, _ = out.WriteString("---\n")
		}
		var document yaml.Node
		if err := errors.Join(document.Encode(content), output.EncodeYAML(out, &document)); err != nil {
			return err
		}
	}
	return nil
}

func NewCommand() *cobra.Command {
	source := kubeconfig.NewOptions()
	command := &cobra.Command{
		Use:   "export ZONE",
		Short: "write a zone out as zone file or manifests",
		Long: `Write a zone out: its content, as a zone file that name servers load and kubectl kubizone import reads (-o text, or
zonefile), or the Zone, its Delegations and Records as manifests that can be applied again (-o yaml or json). ZONE is the DNS
name of the zone, or the Zone object, NAME or NAMESPACE/NAME.`,
		Example: `  kubectl kubizone export example.org > example.org.zone
  kubectl kubizone export platform/example-org -o yaml | kubectl --context other apply -f -`,
		Args: cobra.ExactArgs(1),
	}
	format := output.AddFormat(command, zoneFile)
	command.RunE = func(command *cobra.Command, arguments []string) error {
		client, zone, err := source.ForZone(command.Context(), arguments[0])
		if err != nil {
			return err
		}
		if !format.IsDocument() {
			return exportFile(command.Context(), client, zone, command.OutOrStdout(), command.ErrOrStderr())
		}
		return exportManifests(command.Context(), client, zone, format, command.OutOrStdout(), command.ErrOrStderr())
	}
	source.AddFlagsWithNamespace(command.Flags())
	return command
}
