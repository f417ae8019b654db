// Copyright The Kubizone Authors.
// SPDX-License-Identifier: Apache-2.0

package changes

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/rest"

	"kubi.zone/kubizone/api/kubizone/v1alpha1"
	"kubi.zone/kubizone/pkg/cmd/kubeconfig"
	"kubi.zone/kubizone/pkg/cmd/output"
	"kubi.zone/kubizone/pkg/terminal"
)

// pause is the time between watches, if a server ends each at once.
const pause = time.Second

type options struct {
	client *kubeconfig.Options
	format *output.Format
	since  uint32
	follow bool
}

// Results are the results of the command by their kinds.
func Results() map[string]any { return map[string]any{"ZoneChanges": v1alpha1.ZoneChanges{}} }

func (o *options) run(ctx context.Context, text string, out io.Writer) error {
	client, zone, err := o.client.ForZone(ctx, text)
	if err != nil {
		return err
	}
	ask := func() *rest.Request {
		request := client.KubizoneV1alpha1().RESTClient().Get().Namespace(zone.Namespace).Resource("zones").Name(zone.Name).SubResource(
			"changes")
		if o.since != 0 {
			request.Param("since", strconv.FormatUint(uint64(o.since), 10))
		}
		return request
	}
	if o.follow {
		if o.since == 0 { // first, since a watch without a change must not move the start
			now, err := client.KubizoneV1alpha1().Zones(zone.Namespace).Get(ctx, zone.Name, metav1.GetOptions{})
			switch {
			case ctx.Err() != nil:
				return nil
			case err != nil:
				return fmt.Errorf("changes of zone %s: %w", zone, err)
			}
			o.since = uint32(now.Status.Serial)
		}
		return o.followChanges(ctx, zone, ask, out)
	}
	if o.format.IsDocument() {
		var all v1alpha1.ZoneChanges
		if err := ask().Do(ctx).Into(&all); err != nil {
			return fmt.Errorf("changes of zone %s: %w", zone, err)
		}
		return o.printDocument(out, &all)
	}
	answer, err := ask().Param("format", v1alpha1.FormatText).Stream(ctx)
	if err != nil {
		return fmt.Errorf("changes of zone %s: %w", zone, err)
	}
	defer answer.Close()
	if _, err := io.Copy(out, answer); err != nil {
		return fmt.Errorf("changes of zone %s, cut: %w", zone, err)
	}
	return nil
}

func (o *options) followChanges(ctx context.Context, zone types.NamespacedName, ask func() *rest.Request, out io.Writer) error {
	for ctx.Err() == nil {
		stream, err := ask().Param("watch", "true").Stream(ctx)
		if err == nil {
			err = o.printChanges(stream, out)
			stream.Close()
		}
		switch {
		case ctx.Err() != nil:
			return nil
		case err != nil && o.since != 0:
			return fmt.Errorf("changes of zone %s after serial %d: %w; --since %d goes on there", zone, o.since, err, o.since)
		case err != nil:
			return fmt.Errorf("changes of zone %s: %w", zone, err)
		}
		select {
		case <-ctx.Done():
		case <-time.After(pause):
		}
	}
	return nil
}

// The end of the stream is no error: the next request shows whether the server answers.
func (o *options) printChanges(stream io.Reader, out io.Writer) error {
	decoder := json.NewDecoder(stream)
	for {
		var event struct {
			Type   watch.EventType `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if decoder.Decode(&event) != nil {
			return nil
		}
		if event.Type == watch.Error {
			var status metav1.Status
			if err := json.Unmarshal(event.Object, &status); err != nil {
				return err
			}
			return apierrors.FromObject(&status)
		}
		var changes v1alpha1.ZoneChanges
		if err := json.Unmarshal(event.Object, &changes); err != nil {
			return err
		}
		if o.format.IsDocument() {
			if err := o.printDocument(out, &changes); err != nil {
				return err
			}
		}
		for _, change := range changes.Changes {
			if o.format.IsDocument() {
				break
			}
			if err := printChange(out, change); err != nil {
				return err
			}
		}
		o.since = uint32(changes.Until)
	}
}

func (o *options) printDocument(out io.Writer, changes *v1alpha1.ZoneChanges) error {
	changes.TypeMeta = metav1.TypeMeta{}
	return o.format.Print(out, "ZoneChanges", changes, nil)
}

func printChange(out io.Writer, change v1alpha1.ZoneChange) error {
	var text bytes.Buffer
	terminal.Fprintf(&text, "; serial %d to %d\n", change.From, change.To)
	for _, part := range []struct {
		sign    string
		entries []v1alpha1.Entry
	}{{"-", change.Removed}, {"+", change.Added}} {
		for _, entry := range part.entries {
			terminal.Fprintf(&text, "%s %s\t%d\t%s\t%s\t%s\n", part.sign, entry.FQDN, entry.TTL, entry.Class, entry.Type, entry.RData)
		}
	}
	_, err := out.Write(text.Bytes())
	return err
}

// NewCommand returns the sub-command.
func NewCommand() *cobra.Command {
	o := &options{client: kubeconfig.NewOptions()}
	command := &cobra.Command{
		Use:   "changes ZONE",
		Short: "print what changed in a zone",
		Long: `Print what changed in a zone: for each serial the entries that were removed (-) and added (+). Without --since it begins
with the oldest change that the server holds. ZONE is the DNS name of the zone, or the Zone object, NAME or NAMESPACE/NAME.`,
		Example: `  kubectl kubizone changes example.org
  kubectl kubizone changes platform/example-org --follow`,
		Args: cobra.ExactArgs(1),
		RunE: func(command *cobra.Command, arguments []string) error {
			return o.run(command.Context(), arguments[0], command.OutOrStdout())
		},
	}
	flags := command.Flags()
	o.format = output.AddFormat(command)
	o.client.AddFlagsWithNamespace(flags)
	flags.Uint32Var(&o.since, "since", 0, "serial after which changes are printed; 0 is the oldest that the server holds, "+
		"with --follow the present one")
	flags.BoolVarP(&o.follow, "follow", "f", false, "print changes as they come, until interrupted")
	return command
}
