"""Sphinx's configuration of the HTML edition. Nothing is executed: the notebooks' stored outputs are shown."""

project = "KV Cache by Hand"
html_title = project
extensions = ["myst_nb", "sphinx_copybutton", "helpers.html_edition.mathml"]

nb_execution_mode = "off"
nb_merge_streams = True
myst_enable_extensions = ["dollarmath", "amsmath"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

html_theme = "sphinx_book_theme"
html_static_path = ["static"]
html_css_files = ["edition.css"]
html_math_renderer = "mathml"
html_show_copyright = False
html_copy_source = False
html_context = {"default_mode": "auto"}  # light or dark as the reader's system is, until they choose
html_theme_options = {
    "navbar_persistent": [],  # the side bar has the search already
    "footer_content_items": [],
    "home_page_in_toc": True,
    "show_toc_level": 2,
    "use_download_button": False,
    "use_fullscreen_button": False,
}
copybutton_selector = "div.cell_input pre, div.highlight-python pre, div.highlight-bash pre"
copybutton_copy_empty_lines = True
