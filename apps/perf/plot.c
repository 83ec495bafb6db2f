/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writes the plot: a panel for each message size. The horizontal axis is logarithmic, as the
 * buckets of the histogram are, so all bars have the same width.
 */

#include "plot.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* sizes and margins of a panel of the plot in pixels */
#define WIDTH        960
#define PANEL_HEIGHT 320
#define LEFT         70
#define RIGHT        60
#define TOP          40
#define BOTTOM       50
#define PLOT_WIDTH   (WIDTH - LEFT - RIGHT)
#define PLOT_HEIGHT  (PANEL_HEIGHT - TOP - BOTTOM)
#define TICKS        8u /* maximum number of labels of the horizontal axis */

/* A panel of the plot: the range of buckets and the highest bar. */
struct panel {
	const struct histogram *histogram;
	double scale;
	unsigned first, end;
	double highest; /* share of the messages that the highest bar shows */
	int top;        /* vertical position of the panel in the plot in pixels */
};

int
plot_begin(struct plot *plot, const char *path)
{
	*plot = (struct plot){ .path = path };
	if (path == NULL)
		return 0;
	plot->file = open_memstream(&plot->panels, &plot->len);
	if (plot->file != NULL)
		return 0;
	fprintf(stderr, "uroce-perf: --plot: %s\n", strerror(errno));
	return -1;
}

static double
share_of(const struct panel *panel, unsigned bucket)
{
	return (double)panel->histogram->count[bucket] / (double)panel->histogram->nb;
}

static double
x_of(const struct panel *panel, unsigned bucket)
{
	return LEFT + (double)PLOT_WIDTH * (bucket - panel->first) / (panel->end - panel->first);
}

static double
y_of(const struct panel *panel, double part)
{
	return panel->top + TOP + PLOT_HEIGHT * (1 - part);
}

static void
draw_bars(FILE *file, const struct panel *panel)
{
	for (unsigned i = panel->first; i < panel->end; i++) {
		const double part = share_of(panel, i) / panel->highest;

		if (part > 0)
			fprintf(file,
				"<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" "
				"class=\"bar\"/>\n",
				x_of(panel, i), y_of(panel, part),
				x_of(panel, i + 1) - x_of(panel, i), PLOT_HEIGHT * part);
	}
}

static void
draw_sum(FILE *file, const struct panel *panel)
{
	double sum = 0;

	fprintf(file, "<polyline class=\"sum\" points=\"%d,%.1f", LEFT, y_of(panel, 0));
	for (unsigned i = panel->first; i < panel->end; i++) {
		sum += share_of(panel, i);
		fprintf(file, " %.1f,%.1f", x_of(panel, i + 1), y_of(panel, sum));
	}
	fprintf(file, "\"/>\n");
}

static void
draw_text(FILE *file, double x, double y, const char *anchor, const char *text)
{
	fprintf(file, "<text x=\"%.1f\" y=\"%.1f\" text-anchor=\"%s\">%s</text>\n", x, y, anchor,
		text);
}

/* Draw the frame, the values of the horizontal axis, and the shares at both vertical axes. */
static void
draw_axes(FILE *file, const struct panel *panel, const char *unit)
{
	const unsigned nb = panel->end - panel->first;
	const unsigned step = (nb + TICKS - 1) / TICKS;
	const double bottom = y_of(panel, 0);
	char text[64];

	fprintf(file, "<rect x=\"%d\" y=\"%.1f\" width=\"%d\" height=\"%d\" class=\"frame\"/>\n",
		LEFT, y_of(panel, 1), PLOT_WIDTH, PLOT_HEIGHT);
	for (unsigned i = panel->first; i <= panel->end; i += step) {
		snprintf(text, sizeof(text), "%.3g", (double)histogram_begin(i) * panel->scale);
		draw_text(file, x_of(panel, i), bottom + 18, "middle", text);
	}
	snprintf(text, sizeof(text), "latency [%s]", unit);
	draw_text(file, LEFT + PLOT_WIDTH / 2, bottom + 38, "middle", text);
	for (int i = 0; i <= 4; i++) {
		snprintf(text, sizeof(text), "%.2g %%", 25.0 * i * panel->highest);
		draw_text(file, LEFT - 6, y_of(panel, i / 4.0) + 4, "end", text);
		snprintf(text, sizeof(text), "%d %%", 25 * i);
		draw_text(file, WIDTH - RIGHT + 6, y_of(panel, i / 4.0) + 4, "start", text);
	}
}

static struct panel
panel_of(const struct plot *plot, const struct histogram *histogram, double scale)
{
	struct panel panel = { .histogram = histogram,
			       .scale = scale,
			       .top = (int)plot->nb_panels * PANEL_HEIGHT };

	histogram_range(histogram, &panel.first, &panel.end);
	for (unsigned i = panel.first; i < panel.end; i++)
		if (share_of(&panel, i) > panel.highest)
			panel.highest = share_of(&panel, i);
	return panel;
}

void
plot_add(struct plot *plot, const char *test, uint64_t size, const struct histogram *histogram,
	 double scale, const char *unit)
{
	char title[128];

	if (plot->file == NULL || histogram->nb == 0)
		return;
	const struct panel panel = panel_of(plot, histogram, scale);

	snprintf(title, sizeof(title), "%s, %" PRIu64 " bytes, %" PRIu64 " messages", test, size,
		 histogram->nb);
	draw_text(plot->file, LEFT, panel.top + 24, "start", title);
	draw_bars(plot->file, &panel);
	draw_sum(plot->file, &panel);
	draw_axes(plot->file, &panel, unit);
	plot->nb_panels++;
}

static int
write_svg(const struct plot *plot, FILE *file)
{
	fprintf(file,
		"<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%u\">\n"
		"<style>text { font: 12px sans-serif } .bar { fill: #4477aa } "
		".sum { fill: none; stroke: #cc3311; stroke-width: 1.5 } "
		".frame { fill: none; stroke: #000000 }</style>\n"
		"<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n%s</svg>\n",
		WIDTH, plot->nb_panels * PANEL_HEIGHT, plot->panels);
	return fclose(file);
}

int
plot_end(struct plot *plot)
{
	int result = 0;

	if (plot->file == NULL)
		return 0;
	/* after fclose() `panels` has all that was written to the stream */
	fclose(plot->file);
	plot->file = NULL;
	FILE *file = fopen(plot->path, "w");
	if (file == NULL || write_svg(plot, file) != 0) {
		fprintf(stderr, "uroce-perf: --plot %s: %s; allowed: a file that can be written\n",
			plot->path, strerror(errno));
		result = -1;
	}
	free(plot->panels);
	plot->panels = NULL;
	return result;
}
