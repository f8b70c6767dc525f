package checkpoint

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"prdrunner/checkpoint/retention"
)

// TestWhatRetentionIsTold: what counts together, and what can be gone back to.
func TestWhatRetentionIsTold(t *testing.T) {
	t.Parallel()
	at := newTick().now()
	pause := retention.Group{Trigger: "pause"}
	for _, tt := range []struct {
		name string
		ref  CheckpointRef
		want retention.Checkpoint
	}{
		{
			"counted per phase", CheckpointRef{ID: "a", Trigger: TriggerBatchComplete, Phase: "services", Valid: true, CreatedAt: at},
			retention.Checkpoint{ID: "a", Group: retention.Group{Trigger: "batch_complete", Phase: "services"}, At: at},
		},
		{
			"likewise", CheckpointRef{Trigger: TriggerWorkstreamComplete, Phase: "services", Valid: true},
			retention.Checkpoint{Group: retention.Group{Trigger: "workstream_complete", Phase: "services"}},
		},
		{"counted over all phases", CheckpointRef{Trigger: TriggerPause, Phase: "services", Valid: true}, retention.Checkpoint{Group: pause}},
		{"pinned", CheckpointRef{Trigger: TriggerPause, Pinned: true, Valid: true}, retention.Checkpoint{Group: pause, Pinned: true}},
		{"invalid", CheckpointRef{Trigger: TriggerPause}, retention.Checkpoint{Group: pause, Unusable: "invalid"}},
		{
			"went back before it", CheckpointRef{Trigger: TriggerPause, InvalidatedBy: "R-1"},
			retention.Checkpoint{Group: pause, Unusable: "invalid since rollback R-1"},
		},
		{
			"damaged too", CheckpointRef{Trigger: TriggerPause, InvalidatedBy: "R-1", Damage: &Damage{}},
			retention.Checkpoint{Group: pause, Unusable: "damaged"},
		},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tt.want, tt.ref.forRetention()); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
