"""The Compare page: a what-if beside what is. Each of its views is a module with a ``show()``."""

from pages.compare import league_view, map_view, pair_view
from pages.parts import controls

VIEWS = {
    "pair": ("A against B", pair_view.show),
    "league": ("all accelerators", league_view.show),
    "map": ("a map", map_view.show),
}

shown = controls.segments("compare_view", "View", {view: name for view, (name, _) in VIEWS.items()})
VIEWS[shown][1]()
